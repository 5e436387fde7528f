//! The sign-in page and its forms.

use super::{
    authorize::{see_other, sign_in_page, signed_in},
    cookies,
    page_form::PageForm,
    pages::{self, FormPage, Language, Notice},
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
        second_factor::{self, Given, New},
        sign_in::{self, Identifier, Page, Progress, SignInError},
    },
};
use bailiwick_platform::RequestContext;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use uuid::Uuid;

/// The page.
pub async fn show(
    Service(identity): Service<Identity>,
    PathId(id): PathId<Uuid>,
    headers: HeaderMap,
) -> Response {
    let (language, browser) = (pages::language_of(&headers), cookies::read(&identity, &headers));
    let Some(id) = id else { return pages::notice(language, Notice::Expired, None) };
    match sign_in::page(&identity, id, &browser, None).await {
        Ok(Some(page)) => render(language, &page, None),
        Ok(None) => pages::notice(language, Notice::Expired, None),
        Err(error) => pages::fault(language, &error),
    }
}

/// One of its forms.
pub async fn submit(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    PathId(id): PathId<Uuid>,
    form: PageForm,
) -> Response {
    let Some(id) = form.waiting(&identity, id) else { return form.expired() };
    if form.sent("form") == "add_factor" {
        return add_factor(&identity, &context, id, &form).await;
    }
    match run(&identity, &context, id, &form).await {
        Ok(Progress::Done(done)) => signed_in(&identity, form.language, &done),
        Ok(Progress::NextPage { browser }) => {
            let mut response = see_other(form.language, &sign_in_page(&identity, id));
            cookies::set_browser(&identity, response.headers_mut(), &browser);
            response
        }
        Err(denied) => deny(&identity, id, &form, denied).await,
    }
}

/// Its fields say which of the forms it is.
async fn run(
    identity: &Identity,
    context: &RequestContext,
    id: Uuid,
    form: &PageForm,
) -> Result<Progress, SignInError> {
    let browser = &form.browser;
    if form.sent("form") == "new_password" {
        let (new, again) = (form.sent("new_password"), form.sent("new_password_again"));
        return sign_in::replace_password(identity, context, id, browser, new, again)
            .await
            .map(Progress::Done);
    }
    match form.sent("form") {
        "factor" => {
            let proven = second_factor::prove_factor(identity, context, id, browser, proof(form)).await;
            mail::wake(&identity.events);
            return proven;
        }
        "passkey" => {
            let (answer, state) = (form.sent("credential"), form.sent("state"));
            return second_factor::by_passkey(identity, context, id, browser, answer, state).await;
        }
        _ => {}
    }
    let who = Identifier::guess(form.sent("name"));
    sign_in::sign_in(identity, context, id, browser, &who, form.sent("password")).await
}

/// A passkey where the browser has used one, else a code.
fn proof(form: &PageForm) -> Given<'_> {
    match form.sent("credential") {
        "" => Given::Code(form.sent("code")),
        answer => Given::Passkey { answer, state: form.sent("state") },
    }
}

/// Adds a second factor, and shows the recovery codes before the sign-in goes on.
async fn add_factor(identity: &Identity, context: &RequestContext, id: Uuid, form: &PageForm) -> Response {
    let new = match form.sent("credential") {
        "" => New::Totp { state: form.sent("totp_state"), code: form.sent("code") },
        answer => New::Passkey { state: form.sent("state"), answer },
    };
    match second_factor::add_factor(identity, context, id, &form.browser, new).await {
        Ok(added) => {
            mail::wake(&identity.events);
            pages::recovery_codes(form.language, &added.recovery_codes, &added.address)
        }
        Err(denied) => deny(identity, id, form, denied).await,
    }
}

async fn deny(identity: &Identity, id: Uuid, form: &PageForm, denied: SignInError) -> Response {
    let language = form.language;
    let (status, problem, detail) = match &denied {
        SignInError::WrongCredentials => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_credentials", None),
        SignInError::AccountSuspended => {
            (StatusCode::UNPROCESSABLE_ENTITY, "wrong_credentials", Some("account_suspended"))
        }
        SignInError::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", None),
        SignInError::WrongFactor if form.sent("credential").is_empty() => {
            (StatusCode::UNPROCESSABLE_ENTITY, "wrong_code", None)
        }
        SignInError::WrongFactor => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_passkey", None),
        SignInError::CodesExhausted => (StatusCode::UNPROCESSABLE_ENTITY, "codes_exhausted", None),
        SignInError::WeakPassword(code) => (StatusCode::UNPROCESSABLE_ENTITY, *code, None),
        SignInError::Fault(error) => return pages::fault(language, error),
        SignInError::Gone
        | SignInError::NotIdentified
        | SignInError::MustReplacePassword
        | SignInError::MustProveFactor
        | SignInError::MustAddFactor => return form.expired(),
    };
    let offered = Some(form.sent("totp_state"));
    let page = match sign_in::page(identity, id, &form.browser, offered).await {
        Ok(Some(page)) => page,
        Ok(None) => return form.expired(),
        Err(error) => return pages::fault(language, &error),
    };
    let problem = Problem { status, problem, detail, name: form.sent("name") };
    let mut response = render(language, &page, Some(problem));
    if let SignInError::TooMany { retry_after } = denied {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(retry_after)));
    }
    response
}

struct Problem<'a> {
    status: StatusCode,
    problem: &'a str,
    detail: Option<&'a str>,
    name: &'a str,
}

fn render(language: Language, page: &Page, problem: Option<Problem<'_>>) -> Response {
    let hint = page.login_hint.as_deref();
    let rendered = FormPage {
        status: problem.as_ref().map_or(StatusCode::OK, |p| p.status),
        asks: &page.asks,
        problem: problem.as_ref().map(|p| p.problem),
        detail: problem.as_ref().and_then(|p| p.detail),
        name: problem.as_ref().map(|p| p.name).or(hint),
        form_token: &page.form_token,
        form_target: page.form_target.as_deref(),
        has_recovery: page.has_recovery,
    };
    pages::form(language, &rendered)
}
