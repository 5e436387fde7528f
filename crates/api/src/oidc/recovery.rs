//! The pages for a forgotten password and for confirming an address; see `bailiwick_identity::oidc::recovery`.

use super::{
    cookies,
    page_form::PageForm,
    pages::{self, Language, Notice, RecoveryPage},
};
use crate::{
    error::whole_seconds,
    extract::{Ctx, PathId, Service},
};
use axum::response::Response;
use bailiwick_events::mail;
use bailiwick_identity::{
    Identity,
    oidc::{
        authorize::Browser,
        recovery::{self, Form as Which},
        sign_in::SignInError,
    },
};
use http::{HeaderMap, HeaderValue, StatusCode, header};

/// `GET /oidc/forgotten-password`.
pub async fn show_forgotten(Service(identity): Service<Identity>, headers: HeaderMap) -> Response {
    let language = pages::language_of(&headers);
    if !mail::is_on(&identity.events) {
        return pages::notice(language, Notice::NoMail, None);
    }
    open(&identity, &headers, Which::Forgotten, RecoveryPage::new("forgotten.html"))
}

/// The form of that page; the answer is the same for every name.
pub async fn ask(Service(identity): Service<Identity>, Ctx(context): Ctx, form: PageForm) -> Response {
    if !mail::is_on(&identity.events) {
        return pages::notice(form.language, Notice::NoMail, None);
    }
    if !recovery::is_form_token(&identity, &form.browser, Which::Forgotten, form.token()) {
        return form.expired();
    }
    match recovery::ask(&identity, &context, form.sent("name")).await {
        Ok(()) => pages::notice(form.language, Notice::MailAsked, None),
        Err(error) => pages::fault(form.language, &error),
    }
}

/// `GET /oidc/new-password/{token}`.
pub async fn show_new_password(
    Service(identity): Service<Identity>,
    PathId(token): PathId<String>,
    headers: HeaderMap,
) -> Response {
    let language = pages::language_of(&headers);
    match recovery::is_open(&identity, &token.unwrap_or_default()).await {
        Ok(true) => open(&identity, &headers, Which::NewPassword, RecoveryPage::new("new_password.html")),
        Ok(false) => pages::notice(language, Notice::LinkOver, None),
        Err(error) => pages::fault(language, &error),
    }
}

/// Its form.
pub async fn new_password(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    PathId(token): PathId<String>,
    form: PageForm,
) -> Response {
    let language = form.language;
    if !recovery::is_form_token(&identity, &form.browser, Which::NewPassword, form.token()) {
        return form.expired();
    }
    // Each costs a hash, so they are limited like the token endpoint.
    let counted = match identity.token_requests.count(identity.as_ref(), context.client_ip) {
        Ok(counted) => counted,
        Err(error) => return pages::fault(language, &error),
    };
    let (new, again) = (form.sent("new_password"), form.sent("new_password_again"));
    match recovery::reset(&identity, &context, counted, &token.unwrap_or_default(), new, again).await {
        Ok(()) => {
            pages::notice_with_way_on(language, Notice::PasswordChanged, &identity.settings.pages().home())
        }
        Err(denied) => {
            let page = RecoveryPage::new("new_password.html");
            deny(&identity, &form, Which::NewPassword, page, denied)
        }
    }
}

/// `GET /oidc/confirm-address/{token}`.
pub async fn show_confirmation(
    Service(identity): Service<Identity>,
    PathId(token): PathId<String>,
    headers: HeaderMap,
) -> Response {
    let language = pages::language_of(&headers);
    let browser = cookies::read(&identity, &headers);
    match recovery::confirmation(&identity, &token.unwrap_or_default(), &browser).await {
        Ok(Some(shown)) => {
            let page = RecoveryPage {
                address: Some(&shown.address),
                needs_password: shown.needs_password,
                ..RecoveryPage::new("confirm_address.html")
            };
            open(&identity, &headers, Which::ConfirmAddress, page)
        }
        Ok(None) => pages::notice(language, Notice::LinkOver, None),
        Err(error) => pages::fault(language, &error),
    }
}

/// Its form.
pub async fn confirm(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    PathId(token): PathId<String>,
    form: PageForm,
) -> Response {
    let (language, browser) = (form.language, &form.browser);
    let token = token.unwrap_or_default();
    if !recovery::is_form_token(&identity, browser, Which::ConfirmAddress, form.token()) {
        return form.expired();
    }
    match recovery::confirm(&identity, &context, &token, browser, form.sent("password")).await {
        Ok(()) => {
            pages::notice_with_way_on(language, Notice::AddressConfirmed, &identity.settings.pages().home())
        }
        Err(denied) => {
            let shown = recovery::confirmation(&identity, &token, browser).await.ok().flatten();
            let page = RecoveryPage {
                address: shown.as_ref().map(|shown| shown.address.as_str()),
                needs_password: true,
                ..RecoveryPage::new("confirm_address.html")
            };
            deny(&identity, &form, Which::ConfirmAddress, page, denied)
        }
    }
}

fn open(identity: &Identity, headers: &HeaderMap, which: Which, page: RecoveryPage<'_>) -> Response {
    open_for(identity, pages::language_of(headers), &cookies::read(identity, headers), which, page)
}

fn open_for(
    identity: &Identity,
    language: Language,
    browser: &Browser,
    which: Which,
    page: RecoveryPage<'_>,
) -> Response {
    let opened = recovery::open(identity, browser, which);
    let page = RecoveryPage { form_token: &opened.form_token, ..page };
    let mut response = pages::recovery(language, &page);
    if let Some(cookie) = opened.fresh_cookie {
        cookies::set_browser(identity, response.headers_mut(), &cookie);
    }
    response
}

fn deny(
    identity: &Identity,
    form: &PageForm,
    which: Which,
    page: RecoveryPage<'_>,
    denied: SignInError,
) -> Response {
    let language = form.language;
    let (status, problem) = match &denied {
        SignInError::WeakPassword(code) => (StatusCode::UNPROCESSABLE_ENTITY, *code),
        SignInError::WrongCredentials => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_password"),
        SignInError::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_attempts"),
        SignInError::Fault(error) => return pages::fault(language, error),
        _ => return pages::notice(language, Notice::LinkOver, None),
    };
    let page = RecoveryPage { status, problem: Some(problem), ..page };
    let mut response = open_for(identity, language, &form.browser, which, page);
    if let SignInError::TooMany { retry_after } = denied {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(retry_after)));
    }
    response
}
