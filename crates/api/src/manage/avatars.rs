//! Pictures of users (spec: account#avatars).

use crate::{
    Uncompressed,
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, PathId, Service, Who},
    wire::session::AvatarOutput,
};
use axum::{body::Body, response::Response};
use bailiwick_directory::{
    Directory,
    avatars::{self, ServedAvatar, Whose},
};
use bailiwick_domain::{Error, UserId};
use bailiwick_web::{Upload, picture};
use http::{HeaderMap, HeaderValue, StatusCode, header};

fn uploaded(avatar_url: String) -> Answer<AvatarOutput> {
    Answer::ok("avatar uploaded successfully", AvatarOutput { avatar_url })
}

/// `PUT /me/avatar`.
pub async fn put_own(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    upload: Upload,
) -> Outcome<Answer<AvatarOutput>> {
    Ok(uploaded(avatars::upload(&directory, &caller, &request, Whose::Own, picture(upload)).await?))
}

/// `DELETE /me/avatar`.
pub async fn remove_own(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    avatars::remove(&directory, &caller, &request, Whose::Own).await?;
    Ok(Answer::ok("avatar deleted successfully", ()))
}

/// `PUT /users/{id}/avatar`.
pub async fn put(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    upload: Upload,
) -> Outcome<Answer<AvatarOutput>> {
    Ok(uploaded(avatars::upload(&directory, &caller, &request, Whose::Of(id), picture(upload)).await?))
}

/// `DELETE /users/{id}/avatar`.
pub async fn remove(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    avatars::remove(&directory, &caller, &request, Whose::Of(id)).await?;
    Ok(Answer::ok("avatar deleted successfully", ()))
}

/// `GET /public/users/{id}/avatar`; a query is ignored.
pub async fn show(
    Service(directory): Service<Directory>,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
    headers: HeaderMap,
) -> Outcome<Response> {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    let shown = avatars::show(&directory, &request, id, known).await?;
    let (status, body, etag) = match shown {
        ServedAvatar::Image(png, etag) => (StatusCode::OK, Body::from(png), etag),
        ServedAvatar::Unchanged(etag) => (StatusCode::NOT_MODIFIED, Body::empty(), etag),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if status == StatusCode::OK {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/png"));
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    }
    let cache = HeaderValue::from_static("private, max-age=3600, must-revalidate");
    headers.insert(header::CACHE_CONTROL, cache);
    headers.insert(header::ETAG, HeaderValue::try_from(etag).map_err(Error::internal)?);
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}
