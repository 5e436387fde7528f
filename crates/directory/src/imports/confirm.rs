//! Confirms an import: every row is checked again, then created or updated on its own.

use super::{
    Examined, FIRST_ROW, ImportKind, Plan, Resolutions, Status, WRITING, allow, examine, permit, session,
};
use crate::{Directory, organizations, users};
use bailiwick_domain::{Error, FieldError, OrgId, Result};
use bailiwick_platform::RequestContext;
use bailiwick_policy::Caller;
use std::{collections::HashMap, time::Duration, vec};
use tokio::{sync::SemaphorePermit, time::Instant};
use uuid::Uuid;

/// No row is started later than this after the body was read, so that the answer still arrives in the 180 s of spec:
/// conventions#limits: the body may take 30 s, and the last row may wait for the database and for a place to hash a
/// password.
const WRITE_WITHIN: Duration = Duration::from_secs(130);

/// The body.
#[derive(Clone, Debug, Default)]
pub struct Confirmation {
    pub import_id: String,
    /// Whether rows that exist already are overwritten.
    pub overrides: bool,
    /// Organization ids as sent, by row number as sent; for users.
    pub resolutions: HashMap<String, String>,
}

/// The result of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A new object.
    Created(Uuid),
    /// The object that existed.
    Updated(Uuid),
    /// Left out: `error`, `warning_not_overridden` or `ambiguous_unresolved`.
    Skipped(&'static str),
    /// Tried; why it was refused.
    Failed(String),
}

/// The results of all rows, in order, with their numbers.
#[derive(Clone, Debug)]
pub struct Confirmed(pub Vec<(usize, Outcome)>);

/// Imports a validated file. A row that fails does not stop the others.
pub async fn confirm(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    kind: ImportKind,
    body: impl FnOnce() -> Result<Confirmation>,
) -> Result<Confirmed> {
    let mut import = start(service, caller, kind, body).await?;
    let mut outcomes = Vec::with_capacity(import.left());
    while let Some(outcome) = import.next(service, caller, ctx).await {
        outcomes.push(outcome);
    }
    Ok(Confirmed(outcomes))
}

/// An import under way.
#[derive(Debug)]
pub struct Import {
    kind: ImportKind,
    overrides: bool,
    rows: vec::IntoIter<Examined>,
    end: Instant,
    _permit: SemaphorePermit<'static>,
}

/// Begins the import of a validated file; [`Import::next`] imports its rows.
///
/// # Errors
/// 400 without an id and for a file that is unknown or used, 403 without the permission and for a file of another user,
/// 503 while too many imports run.
pub async fn start(
    service: &Directory,
    caller: &Caller,
    kind: ImportKind,
    body: impl FnOnce() -> Result<Confirmation>,
) -> Result<Import> {
    allow(caller, kind)?;
    let end = Instant::now() + WRITE_WITHIN;
    let body = body()?;
    if body.import_id.is_empty() {
        return Err(Error::bad_request("import_id is required"));
    }
    // Waits first: an overload must not use up the file.
    let permit = permit(&WRITING).await?;
    let session = session::claim(service, caller, kind, &body.import_id).await?;
    let rows = session::rows(service, kind, session).await?;
    let examined = examine(service, caller, kind, &rows, &resolutions(&body)).await?;
    Ok(Import { kind, overrides: body.overrides, rows: examined.into_iter(), end, _permit: permit })
}

impl Import {
    /// How many rows are left.
    pub fn left(&self) -> usize {
        self.rows.len()
    }

    /// Imports the next row: its number and result; none when all are done.
    pub async fn next(
        &mut self,
        service: &Directory,
        caller: &Caller,
        ctx: &RequestContext,
    ) -> Option<(usize, Outcome)> {
        let Examined { row, plan } = self.rows.next()?;
        let outcome = match (row.status(), plan) {
            (Status::Ambiguous, _) => Outcome::Skipped("ambiguous_unresolved"),
            (Status::Error, _) | (_, None) => Outcome::Skipped("error"),
            (Status::Warning, _) if !self.overrides => Outcome::Skipped("warning_not_overridden"),
            _ if Instant::now() > self.end => Outcome::Failed("the time for the import is over".to_owned()),
            (_, Some(plan)) => carry_out(service, caller, ctx, self.kind, plan).await,
        };
        Some((row.number, outcome))
    }
}

/// Valid choices of an organization for a row; others are ignored.
fn resolutions(body: &Confirmation) -> Resolutions {
    let chosen =
        |(row, id): (&String, &String)| Some((row.parse::<usize>().ok()?, id.parse::<OrgId>().ok()?));
    body.resolutions.iter().filter_map(chosen).filter(|(row, _)| *row >= FIRST_ROW).collect()
}

async fn carry_out(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    kind: ImportKind,
    plan: Plan,
) -> Outcome {
    let done = match plan {
        Plan::CreateOrganization(body) => {
            let ImportKind::Organizations(family) = kind else { return misplaced() };
            let made = organizations::create(service, caller, ctx, family, || Ok(body)).await;
            made.map(|o| Outcome::Created(o.id.0))
        }
        Plan::UpdateOrganization(id, body) => {
            let ImportKind::Organizations(family) = kind else { return misplaced() };
            let changed = organizations::update(service, caller, ctx, family, Some(id), || Ok(body)).await;
            changed.map(|o| Outcome::Updated(o.id.0))
        }
        Plan::CreateUser(body) => {
            let made = users::create(service, caller, ctx, || Ok(body)).await;
            made.map(|view| Outcome::Created(view.user.id.0))
        }
        Plan::UpdateUser(id, body) => {
            let changed = users::update(service, caller, ctx, Some(id), || Ok(body)).await;
            changed.map(|view| Outcome::Updated(view.user.id.0))
        }
    };
    done.unwrap_or_else(|error| Outcome::Failed(reason(&error)))
}

fn misplaced() -> Outcome {
    tracing::error!("an organization among imported users");
    Outcome::Failed(INTERNAL.to_owned())
}

const INTERNAL: &str = "internal server error";

/// The reason for a refused row, as the caller sees it; nothing internal.
fn reason(error: &Error) -> String {
    match error {
        Error::Invalid(fields) => {
            let pair = |f: &FieldError| format!("{}: {}", f.key, f.message);
            fields.iter().map(pair).collect::<Vec<_>>().join("; ")
        }
        Error::BadRequest { message, .. }
        | Error::Forbidden { message, .. }
        | Error::Conflict { message, .. }
        | Error::Limited { message, .. } => message.to_string(),
        Error::NotFound(kind) => format!("{kind} not found"),
        Error::Unavailable { message, .. } => {
            tracing::warn!(%error, "an imported row could not be written");
            message.to_string()
        }
        _ => {
            tracing::error!(%error, "an imported row could not be written");
            INTERNAL.to_owned()
        }
    }
}
