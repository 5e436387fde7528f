//! The caller's own sessions (spec: account#sessions).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, PathId, Service, Who},
    wire::own_sessions::OwnSessionList,
};
use bailiwick_domain::ChainId;
use bailiwick_identity::{Identity, auth};

/// `GET /me/sessions`.
pub async fn list(Service(identity): Service<Identity>, Who(caller): Who) -> Outcome<Answer<OwnSessionList>> {
    let sessions = auth::own_sessions(&identity, &caller).await?;
    let list = OwnSessionList { sessions: sessions.into_iter().map(Into::into).collect() };
    Ok(Answer::ok("sessions retrieved successfully", list))
}

/// `DELETE /me/sessions/{id}`.
pub async fn end(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<ChainId>,
) -> Outcome<Answer<()>> {
    auth::end_session(&identity, &caller, &request, id).await?;
    Ok(Answer::ok("session ended successfully", ()))
}

/// `DELETE /me/sessions`.
pub async fn end_others(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    auth::end_other_sessions(&identity, &caller, &request).await?;
    Ok(Answer::ok("other sessions ended successfully", ()))
}
