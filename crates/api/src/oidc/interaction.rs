//! Sign-in for scripts: `/api/interaction*` (spec: openid-provider#endpoints). The waiting request is the last one of
//! the cookie.

use super::{cookies, error};
use crate::{
    error::whole_seconds,
    extract::{Ctx, Service, read},
};
use axum::{
    Json,
    body::Body,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use bailiwick_domain::{Error, json::without_mark};
use bailiwick_events::mail;
use bailiwick_identity::{
    Identity,
    oidc::{
        ProviderError, consent, scripted_sign_in,
        sign_in::{Identifier, SignInError},
    },
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use std::time::Duration;

/// These calls are for programs. A browser adds the cookies of a signed-in user to
/// the calls of any page, with the page's origin; such calls are refused, because a page must not answer for the user.
pub async fn programs_only(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_from_page = headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|site| site.as_bytes() != b"none");
    if !is_from_page {
        return next.run(request).await;
    }
    refuse(StatusCode::FORBIDDEN, "session.not_supported", "these calls are not for pages")
}

/// Largest body of these calls.
const MAX_BODY_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct Start {
    event: String,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Identification {
    email: Option<String>,
    username: Option<String>,
    password: String,
}

/// `PUT /api/interaction`.
pub async fn restart(Service(identity): Service<Identity>, headers: HeaderMap, body: Body) -> Response {
    let start: Start = match json(body).await {
        Ok(start) => start,
        Err(response) => return response,
    };
    if start.event != "SignIn" {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "session.not_supported", "only SignIn is supported");
    }
    empty_or(scripted_sign_in::restart(&identity, &cookies::read(&identity, &headers)).await)
}

/// `PATCH /api/interaction/identifiers`.
pub async fn identify(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let given: Identification = match json(body).await {
        Ok(given) => given,
        Err(response) => return response,
    };
    let who = match (given.email, given.username) {
        (Some(email), None) => Identifier::Email(email.trim().to_owned()),
        (None, Some(name)) => Identifier::Username(name.trim().to_owned()),
        _ => return malformed("one of email and username is needed"),
    };
    let browser = cookies::read(&identity, &headers);
    empty_or(scripted_sign_in::identify(&identity, &context, &browser, &who, &given.password).await)
}

/// `POST /api/interaction/second-factor`: a code of the application or a recovery code.
pub async fn second_factor(Service(identity): Service<Identity>, headers: HeaderMap, body: Body) -> Response {
    let given: Code = match json(body).await {
        Ok(given) => given,
        Err(response) => return response,
    };
    let browser = cookies::read(&identity, &headers);
    let outcome = scripted_sign_in::prove_factor(&identity, &browser, &given.code).await;
    mail::wake(&identity.events);
    empty_or(outcome)
}

/// `POST /api/interaction/submit`; a body is ignored.
pub async fn submit(Service(identity): Service<Identity>, headers: HeaderMap) -> Response {
    match scripted_sign_in::submit(&identity, &cookies::read(&identity, &headers)).await {
        Ok(address) => Json(json!({"redirectTo": address})).into_response(),
        Err(denied) => deny(denied),
    }
}

/// `POST /api/interaction/consent`; a body is ignored. Where no consent is needed, the address is that of `…/submit`.
pub async fn consent(
    Service(identity): Service<Identity>,
    Ctx(context): Ctx,
    headers: HeaderMap,
) -> Response {
    let browser = cookies::read(&identity, &headers);
    let address = match consent::allow_by_script(&identity, &context, &browser).await {
        Ok(None) => scripted_sign_in::submit(&identity, &browser).await,
        Ok(Some(address)) => Ok(address),
        Err(denied) => Err(denied),
    };
    address.map_or_else(deny, |address| Json(json!({"redirectTo": address})).into_response())
}

async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Response> {
    let bytes = read(body, MAX_BODY_BYTES, Duration::from_secs(30)).await.map_err(fault)?;
    serde_json::from_slice(without_mark(&bytes))
        .map_err(|_| malformed("the body is not the expected JSON object"))
}

fn empty_or(outcome: Result<(), SignInError>) -> Response {
    match outcome {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(denied) => deny(denied),
    }
}

fn malformed(message: &str) -> Response {
    refuse(StatusCode::BAD_REQUEST, "guard.invalid_input", message)
}

fn deny(denied: SignInError) -> Response {
    const WRONG: &str = "name or password is wrong";
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    match denied {
        SignInError::WrongCredentials => refuse(unprocessable, "session.invalid_credentials", WRONG),
        SignInError::AccountSuspended => {
            refuse(unprocessable, "session.invalid_credentials", &format!("{WRONG}: account suspended"))
        }
        SignInError::TooMany { retry_after } => {
            let mut response =
                refuse(StatusCode::TOO_MANY_REQUESTS, "session.too_many_attempts", "rate limit exceeded");
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(retry_after)));
            response
        }
        SignInError::Gone => refuse(
            StatusCode::BAD_REQUEST,
            "session.not_found",
            "no authorization request waits for this browser; are its cookies sent?",
        ),
        SignInError::NotIdentified => {
            refuse(unprocessable, "session.identifier_not_found", "nobody has signed in yet")
        }
        SignInError::MustReplacePassword => refuse(
            unprocessable,
            "password.change_required",
            "the generated password must be replaced on the sign-in page first",
        ),
        SignInError::WrongFactor => {
            refuse(unprocessable, "second_factor.invalid_code", "the code is wrong or was used before")
        }
        SignInError::CodesExhausted => refuse(
            unprocessable,
            "second_factor.exhausted",
            "too many wrong codes in a row: a recovery code or a passkey is needed",
        ),
        SignInError::MustProveFactor => {
            refuse(unprocessable, "second_factor.required", "a code of the second factor must be sent first")
        }
        SignInError::MustAddFactor => refuse(
            unprocessable,
            "second_factor.enrolment_required",
            "a second factor must be added on the sign-in page first",
        ),
        SignInError::WeakPassword(code) => refuse(unprocessable, "password.rejected", code),
        SignInError::Fault(error) => fault(error),
    }
}

fn fault(error: Error) -> Response {
    error::answer(ProviderError::Fault(error))
}

fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({"code": code, "message": message}))).into_response()
}
