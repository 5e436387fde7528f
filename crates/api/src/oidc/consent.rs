//! The page on which a user grants or withdraws the scopes that a third-party application requests.

use super::{
    authorize::{go_on, see_other},
    cookies,
    page_form::PageForm,
    pages::{self, Notice},
};
use crate::extract::{Ctx, PathId, Service};
use axum::response::Response;
use bailiwick_identity::{
    Identity,
    oidc::{consent, login, sign_in::SignInError},
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
    form: PageForm,
) -> Response {
    let Some(id) = form.waiting(&identity, id) else { return form.expired() };
    match consent::answer(&identity, &context, id, &form.browser, form.sent("answer") == "allow").await {
        Ok(onward) => go_on(form.language, &onward),
        Err(SignInError::Fault(error)) => pages::fault(form.language, &error),
        Err(_) => form.expired(),
    }
}

/// The form for an application on the page of the signed-in user.
pub async fn withdraw(Service(identity): Service<Identity>, Ctx(context): Ctx, form: PageForm) -> Response {
    if !login::is_form_token(&identity, &form.browser, form.token()) {
        return form.expired();
    }
    match consent::withdraw(&identity, &context, &form.browser, form.sent("client_id")).await {
        Ok(()) => see_other(form.language, &login::address(&identity)),
        Err(error) => pages::fault(form.language, &error),
    }
}
