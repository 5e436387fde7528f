//! Silences, notes and assignees of alerts (spec: alert-management#handling).

use crate::{
    envelope::Answer,
    error::{Failure, Outcome},
    extract::{Ctx, JsonBody, Params, PathId, PathText, Service, Who},
    wire::alert_handling::{
        ActivityOutput, AssignmentInput, NoteInput, OneAssignment, OneSilence, SilenceChangeInput,
        SilenceIdOutput, SilenceInput, SilenceList, SystemSilenceList,
    },
};
use axum::extract::{FromRequestParts, RawPathParams};
use bailiwick_alerts::{
    Alerts,
    manage::{self, CallerContext, SilenceScope},
};
use bailiwick_domain::SystemId;
use bailiwick_web::{alerts::named, values};
use http::request::Parts;
use uuid::Uuid;

/// Where silences are searched, and the path after `silences/`.
#[derive(Debug)]
pub struct SilencePath {
    place: SilenceScope,
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for SilencePath {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<SilencePath, Failure> {
        // A path that is not UTF-8 names nothing.
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let find = |key: &str| {
            let mut all = params.iter().flat_map(RawPathParams::iter);
            all.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
        };
        let query = Params::parse(parts.uri.query().unwrap_or_default());
        let is_of_system = parts.uri.path().contains("/systems/");
        let place = match find("id") {
            Some(id) => SilenceScope::System(id.parse().ok()),
            None if is_of_system => SilenceScope::System(None),
            None => SilenceScope::Organization(query.many("organization_id")),
        };
        Ok(SilencePath { place, id: find("silence_id").unwrap_or_default() })
    }
}

fn id_output(id: Uuid) -> SilenceIdOutput {
    SilenceIdOutput { silence_id: id.to_string() }
}

/// `POST /alerts/silences`, `POST /systems/{id}/alerts/silences`.
pub async fn create(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    path: SilencePath,
    body: JsonBody,
) -> Outcome<Answer<SilenceIdOutput>> {
    let by = CallerContext { caller: &caller, ctx: &ctx };
    let new = || Ok(body.parse::<SilenceInput>()?.into());
    let id = manage::create_silence(&alerts, by, &path.place, new).await?;
    Ok(Answer::ok("alert silenced successfully", id_output(id)))
}

/// `GET /alerts/silences`.
pub async fn list(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SilenceList>> {
    let keys = values(&params, "system_key", Some);
    let found = manage::silences(&alerts, &caller, &named(&params), keys).await?;
    Ok(Answer::ok("silences retrieved successfully", found.into()))
}

/// `GET /systems/{id}/alerts/silences`.
pub async fn list_of_system(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<SystemSilenceList>> {
    let found = manage::silences_of_system(&alerts, &caller, id).await?;
    Ok(Answer::ok("silences retrieved successfully", found.into()))
}

/// `GET …/silences/{silence_id}`.
pub async fn show(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    path: SilencePath,
) -> Outcome<Answer<OneSilence>> {
    let by = CallerContext { caller: &caller, ctx: &ctx };
    let silence = manage::silence(&alerts, by, &path.place, &path.id).await?.into();
    Ok(Answer::ok("silence retrieved successfully", OneSilence { silence }))
}

/// `PUT …/silences/{silence_id}`.
pub async fn change(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    path: SilencePath,
    body: JsonBody,
) -> Outcome<Answer<SilenceIdOutput>> {
    let by = CallerContext { caller: &caller, ctx: &ctx };
    let change = || Ok(body.parse::<SilenceChangeInput>()?.into());
    let id = manage::change_silence(&alerts, by, &path.place, &path.id, change).await?;
    Ok(Answer::ok("silence updated successfully", id_output(id)))
}

/// `DELETE …/silences/{silence_id}`.
pub async fn end(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    path: SilencePath,
) -> Outcome<Answer<()>> {
    let by = CallerContext { caller: &caller, ctx: &ctx };
    manage::end_silence(&alerts, by, &path.place, &path.id).await?;
    Ok(Answer::ok("silence disabled successfully", ()))
}

/// `GET /alerts/activity/{fingerprint}`.
pub async fn activity(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    PathText(fingerprint): PathText,
    params: Params,
) -> Outcome<Answer<ActivityOutput>> {
    let organizations = params.many("organization_id");
    let limit = params.one("limit");
    let (organization, events) =
        manage::activity(&alerts, &caller, &organizations, &fingerprint, limit).await?;
    let output = ActivityOutput::of(organization, &fingerprint, events);
    Ok(Answer::ok("alert activity retrieved successfully", output))
}

/// `POST /alerts/notes`.
pub async fn add_note(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    params: Params,
    body: JsonBody,
) -> Outcome<Answer<()>> {
    let note = || Ok(body.parse::<NoteInput>()?.into());
    manage::add_note(&alerts, &caller, &ctx, &params.many("organization_id"), note).await?;
    Ok(Answer::ok("alert note added successfully", ()))
}

/// `POST /alerts/assignment`.
pub async fn assign(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(ctx): Ctx,
    params: Params,
    body: JsonBody,
) -> Outcome<Answer<OneAssignment>> {
    let assign = || Ok(body.parse::<AssignmentInput>()?.into());
    let assigned = manage::assign(&alerts, &caller, &ctx, &params.many("organization_id"), assign).await?;
    Ok(Answer::ok("alert assigned successfully", assigned.into()))
}
