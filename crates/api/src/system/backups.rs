//! `/systems/backups` (spec: backups#operations).

use super::Itself;
use crate::{
    Uncompressed,
    envelope::{Answer, render},
    error::{Outcome, whole_seconds},
    extract::{Ctx, PathText, Service},
    wire::backups::{BackupList, BackupOutput, DeletedBackupOutput},
};
use axum::{body::Body, extract::Request, response::Response};
use bailiwick_domain::Error;
use bailiwick_fleet::{
    Fleet,
    backups::{self, Backup, Cut, Incoming},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use std::time::Duration;

/// Longest time without a byte (spec: conventions#limits).
const PROGRESS: Duration = Duration::from_secs(15);

static FILENAME: HeaderName = HeaderName::from_static("x-filename");

/// `POST /systems/backups`: answers once the backup is stored and listed.
pub async fn store(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    Ctx(context): Ctx,
    request: Request,
) -> Outcome<Response> {
    let Some(incoming) = incoming(request.headers()) else {
        return Ok(render(StatusCode::LENGTH_REQUIRED, "content length required", &Value::Null));
    };
    let body = chunks(request.into_body());
    match backups::store(&fleet, &context, &system, incoming, body).await {
        Err(Error::TooMany { retry_after }) => Ok(too_many(retry_after)),
        other => Ok(render(StatusCode::CREATED, "backup stored", &BackupOutput::from(other?))),
    }
}

/// Reads the headers; none without a length.
fn incoming(headers: &HeaderMap) -> Option<Incoming> {
    let text = |name: &HeaderName| {
        headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let length = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    let mimetype = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Some(Incoming { length, filename: text(&FILENAME), mimetype })
}

/// The data of the body as it comes.
fn chunks(body: Body) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
    stream::unfold(Some(body.into_data_stream()), |body| async move {
        let mut body = body?;
        match tokio::time::timeout(PROGRESS, body.next()).await {
            Err(_) => Some((Err(Cut::Stalled), None)),
            Ok(None) => None,
            Ok(Some(Err(_))) => Some((Err(Cut::Broken), None)),
            Ok(Some(Ok(chunk))) => Some((Ok(chunk), Some(body))),
        }
    })
}

/// 429 with the data that clients of this route read.
fn too_many(retry_after: Duration) -> Response {
    let seconds = whole_seconds(retry_after);
    let data = json!({ "retry_after_seconds": seconds });
    let mut response = render(StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded", &data);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// `GET /systems/backups`.
pub async fn list(Service(fleet): Service<Fleet>, Itself(system): Itself) -> Outcome<Answer<BackupList>> {
    let backups = backups::own(&fleet, &system).await?.into_iter().map(Into::into).collect();
    Ok(Answer::ok("backups listed", BackupList { backups }))
}

/// `GET /systems/backups/{backup_id}`.
pub async fn read(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    PathText(id): PathText,
) -> Outcome<Response> {
    let (backup, bytes) = backups::read_own(&fleet, &system, &id).await?;
    file(&backup, Body::from_stream(bytes))
}

/// `GET /downloads/{token}`.
pub async fn read_by_token(Service(fleet): Service<Fleet>, PathText(token): PathText) -> Outcome<Response> {
    let (backup, bytes) = backups::read_by_token(&fleet, &token).await?;
    file(&backup, Body::from_stream(bytes))
}

/// The uncompressed file: compression would remove its length.
fn file(backup: &Backup, bytes: Body) -> Outcome<Response> {
    let disposition = format!("attachment; filename=\"{}\"", backup.filename);
    let disposition = HeaderValue::from_str(&disposition).map_err(Error::internal)?;
    let mut response = Response::new(bytes);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(backup.size));
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}

/// `DELETE /systems/backups/{backup_id}`.
pub async fn delete(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    PathText(id): PathText,
) -> Outcome<Answer<DeletedBackupOutput>> {
    backups::delete_own(&fleet, &system, &id).await?;
    Ok(Answer::ok("backup deleted", DeletedBackupOutput { id }))
}
