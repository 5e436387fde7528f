//! The page on which a user grants or withdraws the scopes that a third-party application requests.

use super::{
    authorize::see_other,
    cookies,
    form::Form,
    pages::{self, Notice},
};
use crate::extract::{Ctx, PathId, Service};
use axum::response::Response;
use bailiwick_identity::{
    Identity,
    oidc::{
        consent, login,
        sign_in::{self, Denied},
    },
};
use http::HeaderMap;
use uuid::Uuid;

/// The page.
pub async fn show(
    Service(identity): Service<Identity>,
    PathId(id): PathId<Uuid>,
    headers: HeaderMap,
) -> Response {
    let language = pages::language_of(&headers);
    let Some(id) = id else { return pages::notice(language, Notice::Expired, None) };
    match consent::page(&identity, id, &cookies::read(&identity, &headers)).await {
        Ok(Some(page)) => pages::consent(language, &page),
        Ok(None) => pages::notice(language, Notice::Expired, None),
        Err(error) => pages::fault(language, &error),
    }
}

/// Its form: `answer` names the pressed button. Every value except `allow` is a refusal.
pub async fn submit(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    PathId(id): PathId<Uuid>,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let (language, browser) = (pages::language_of(&headers), cookies::read(&identity, &headers));
    let sent = |name| parameters.one(name).ok().flatten().unwrap_or_default();
    let Some(id) = id.filter(|id| sign_in::is_form_token(&identity, &browser, *id, sent("form_token")))
    else {
        return pages::notice(language, Notice::Expired, None);
    };
    match consent::answer(&identity, &context, id, &browser, sent("answer") == "allow").await {
        Ok(address) => see_other(language, &address),
        Err(Denied::Fault(error)) => pages::fault(language, &error),
        Err(_) => pages::notice(language, Notice::Expired, None),
    }
}

/// The form for an application on the page of the signed-in user.
pub async fn withdraw(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    Form(parameters): Form,
) -> Response {
    let (language, browser) = (pages::language_of(&headers), cookies::read(&identity, &headers));
    let sent = |name| parameters.one(name).ok().flatten().unwrap_or_default();
    if !login::is_form_token(&identity, &browser, sent("form_token")) {
        return pages::notice(language, Notice::Expired, None);
    }
    match consent::withdraw(&identity, &context, &browser, sent("client_id")).await {
        Ok(()) => see_other(language, &login::address(&identity)),
        Err(error) => pages::fault(language, &error),
    }
}
