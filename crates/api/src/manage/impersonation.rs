//! Impersonation with consent (spec: impersonation#requests-while-impersonating).

use super::PAGE_SIZE;
use crate::{
    envelope::{Answer, Pagination},
    error::Outcome,
    extract::{Ctx, JsonBody, Params, PathId, Service, Who},
    impersonation::InSession,
    wire::{
        impersonation::{
            AuditList, ConsentAnswer, ConsentInput, SessionAnswer, SessionList, SessionOutput, StartInput,
            StartOutput, StatusOutput,
        },
        session::{SessionTokens, required},
    },
};
use axum::extract::FromRequestParts;
use bailiwick_domain::{ImpersonationId, Keywords};
use bailiwick_identity::{
    Identity,
    impersonation::{self, Side},
};
use http::request::Parts;

/// `GET /impersonate/consent`.
pub async fn consent(
    Service(identity): Service<Identity>,
    Who(caller): Who,
) -> Outcome<Answer<ConsentAnswer>> {
    let consent = impersonation::consent(&identity, &caller).await?;
    let message = match consent {
        Some(_) => "consent status retrieved successfully",
        None => "no active impersonation consent",
    };
    Ok(Answer::ok(message, ConsentAnswer { consent: consent.map(Into::into) }))
}

/// `POST /impersonate/consent`.
pub async fn give_consent(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<ConsentAnswer>> {
    let body = || Ok(body.parse_request::<ConsentInput>()?.duration_hours);
    let consent = impersonation::give_consent(&identity, &caller, &request, body).await?;
    let answer = ConsentAnswer { consent: Some(consent.into()) };
    Ok(Answer::ok("impersonation consent enabled successfully", answer))
}

/// `DELETE /impersonate/consent`.
pub async fn withdraw_consent(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    impersonation::withdraw_consent(&identity, &caller, &request).await?;
    Ok(Answer::ok("impersonation consent disabled successfully", ()))
}

/// `POST /impersonate`.
pub async fn start(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<StartOutput>> {
    let body = || required("user_id", body.parse_request::<StartInput>()?.user_id);
    let started = impersonation::start(&identity, &caller, &request, body).await?;
    Ok(Answer::ok("impersonation started successfully", started.into()))
}

/// `DELETE /impersonate`, with either token.
pub async fn end(
    Service(identity): Service<Identity>,
    Ctx(request): Ctx,
    InSession(session): InSession,
    mut parts: Parts,
) -> Outcome<Answer<SessionTokens>> {
    let back = match session {
        Some(session) => impersonation::end_by_token(&identity, session, &request).await?,
        None => {
            let Who(caller) = Who::from_request_parts(&mut parts, &identity).await?;
            impersonation::end_own(&identity, &caller, &request).await?
        }
    };
    Ok(Answer::ok("impersonation ended successfully", back.into()))
}

/// `GET /impersonate/status`.
pub async fn status(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    InSession(session): InSession,
) -> Outcome<Answer<StatusOutput>> {
    let status = match (session, caller.acting_for()) {
        (Some(session), Some(impersonator)) => {
            impersonation::status_of(&identity, impersonator, session).await?
        }
        _ => impersonation::status(&identity, &caller).await?,
    };
    let output = StatusOutput::from(status);
    let message =
        if output.is_impersonating { "currently impersonating" } else { "not currently impersonating" };
    Ok(Answer::ok(message, output))
}

/// The words of `as`.
pub(crate) const SIDES: Keywords<Side> =
    Keywords::of(&[("target", Side::Impersonated), ("impersonator", Side::Impersonator), ("any", Side::Any)]);

/// `GET /impersonate/sessions`.
pub async fn sessions(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SessionList>> {
    // An unknown word matches nothing.
    let side = SIDES.parse(params.text("as").unwrap_or("target"));
    let page = impersonation::sessions(&identity, &caller, side, params.page(PAGE_SIZE)).await?;
    let now = identity.platform.now();
    let pagination = pagination(&page, &params);
    let sessions = page.rows.into_iter().map(|session| SessionOutput::at(session, now)).collect();
    Ok(Answer::ok("sessions retrieved successfully", SessionList { sessions, pagination }))
}

fn pagination<T>(page: &bailiwick_domain::Page<T>, params: &Params) -> Pagination {
    Pagination::of(page, params.one("sort_by"), params.one("sort_direction"))
}

/// `GET /impersonate/sessions/{session_id}`.
pub async fn session(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    PathId(id): PathId<ImpersonationId>,
) -> Outcome<Answer<SessionAnswer>> {
    let session = impersonation::session(&identity, &caller, id).await?;
    let answer = SessionAnswer { session: SessionOutput::at(session, identity.platform.now()) };
    Ok(Answer::ok("session details retrieved successfully", answer))
}

/// `GET /impersonate/sessions/{session_id}/audit`.
pub async fn audit(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    PathId(id): PathId<ImpersonationId>,
    params: Params,
) -> Outcome<Answer<AuditList>> {
    let (session, page) = impersonation::audit(&identity, &caller, id, params.page(PAGE_SIZE)).await?;
    let pagination = pagination(&page, &params);
    let list = AuditList::of(&session, page.rows, pagination);
    Ok(Answer::ok("session audit retrieved successfully", list))
}
