//! Sends queued changes to the tenant. Rows are leased, so several processes share them. Each object has one row, so no
//! two workers send the same object at the same time, and they send its state at that moment.

use super::{LogtoSync, account, link_configured, organization, user};
use crate::Identity;
use bailiwick_domain::{Error, OrgId, Result, UserId};
use bailiwick_outbound::logto::LogtoError;
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_store::{
    identities,
    logto::{
        self,
        outbox::{self, Due, NextUsers, OutboxKind},
    },
    organizations,
};
use futures_util::future::join_all;
use std::time::Duration;
use tracing::Instrument;
use uuid::Uuid;

/// Name of the work, for the log.
const KIND: &str = "logto";
/// Rows leased and sent at once.
const CLAIMS: i64 = 8;
/// Longest time a leased row waits for a worker that has died. It is longer than twice [`RUN`] (under one lease,
/// organizations are sent before users) plus the time the database may take for both.
const LEASE: Duration = Duration::from_secs(600);
/// Longest time for telling of one object.
const RUN: Duration = Duration::from_secs(240);
const _: () = assert!(LEASE.as_secs() >= 2 * RUN.as_secs() + 120);
/// How often the worker looks at the rows without a wake-up.
const POLL: Duration = Duration::from_secs(10);
/// Users of a tree that one transaction queues.
const TREE_USERS: i64 = 500;

/// Starts the worker on the application's tracker, in mode `logto`.
pub fn start(service: &Identity) {
    if service.logto.is_none() {
        return;
    }
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let Some(logto) = &worker.logto else { return };
        if let Err(e) = link_configured(&worker, logto).await {
            tracing::warn!(error = %e, "Logto sync cannot be prepared; changes are sent nevertheless");
        }
        let step = || round(&worker);
        let hint = Some(&logto.arrived);
        Worker { name: KIND, failure: jobs::FAILURE, poll: POLL, hint, step }
            .run(&worker.platform.stop)
            .await;
    });
}

/// Sends everything that is due now; for tests and commands. Answers how many objects were sent.
pub async fn run_until_idle(service: &Identity) -> Result<u64> {
    until_idle(|| round(service)).await
}

/// The outcome of a row.
pub(super) enum Outcome {
    /// Sent.
    Done,
    /// There is nothing to send.
    Nothing,
    /// Sent, but these changes were refused.
    Refused(Vec<String>),
    /// Another object must be sent first; then the rest, at once or later. `refused`: refusals so far.
    Wait { at_once: bool, refused: Vec<String> },
    /// The next users of a tree are noted.
    OnTo(Uuid),
}

/// Why a row could not be sent.
#[derive(Debug)]
pub(super) enum Stop {
    /// The database.
    Store(Error),
    /// The tenant.
    Logto(LogtoError),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Store(error.into())
    }
}

/// Claims rows once and sends them. Answers 0 when the tenant is unavailable, so that the caller stops.
async fn round(service: &Identity) -> Result<u64> {
    let Some(logto) = &service.logto else { return Ok(0) };
    let _guard = logto.worker_lock.lock().await;
    let now = service.platform.now();
    let due = outbox::claim(&service.platform.db, logto.issuer(), now, now.plus(LEASE), CLAIMS).await?;
    // Users need their organizations.
    let (first, then): (Vec<&Due>, Vec<&Due>) =
        due.iter().partition(|due| due.kind == OutboxKind::Organization);
    let mut is_away = false;
    for group in [first, then] {
        for result in
            join_all(group.into_iter().map(|due| handle(service, logto, due).instrument(jobs::span(KIND))))
                .await
        {
            is_away |= result?;
        }
    }
    Ok(if is_away { 0 } else { due.len() as u64 })
}

/// Sends one object and settles its row; returns whether the tenant is unavailable.
async fn handle(service: &Identity, logto: &LogtoSync, due: &Due) -> Result<bool> {
    // Deep and large: kept off the stack.
    let result = tokio::time::timeout(RUN, Box::pin(deliver(service, logto, due))).await;
    let now = service.platform.now();
    let (mut is_away, mut not_before) = (false, now);
    let (outcome, problem) = match result {
        Ok(Ok(outcome)) => (Some(outcome), String::new()),
        // The database is unavailable: the lease ends by itself, and the failure does not count against the object.
        Ok(Err(Stop::Store(error @ Error::Unavailable { .. }))) => return Err(error),
        Ok(Err(Stop::Store(error))) => (None, error.to_string()),
        Ok(Err(Stop::Logto(LogtoError::Refused(refusal)))) => {
            (Some(Outcome::Refused(vec![refusal.to_string()])), String::new())
        }
        Ok(Err(Stop::Logto(error))) => {
            if let LogtoError::Later(at) = error {
                not_before = at;
            }
            is_away = true;
            (None, error.to_string())
        }
        Err(_) => (None, "it takes too long".to_owned()),
    };
    let issuer = logto.issuer();
    let mut tx = service.platform.db.begin().await?;
    match outcome {
        Some(Outcome::Done) => {
            settle(&mut tx, issuer, due, None, now).await?;
            outbox::finish(&mut tx, issuer, due).await?;
        }
        Some(Outcome::Nothing) => outbox::finish(&mut tx, issuer, due).await?,
        Some(Outcome::Refused(why)) => {
            let why = jobs::reason(&why.join("; "));
            tracing::warn!(kind = due.kind.word(), object = %due.object, why, "refused by the identity provider");
            settle(&mut tx, issuer, due, Some(&why), now).await?;
            outbox::postpone(&mut tx, issuer, due, None, &why).await?;
        }
        Some(Outcome::OnTo(after)) => outbox::go_on(&mut tx, issuer, due, after).await?,
        Some(Outcome::Wait { at_once, refused }) => {
            if !refused.is_empty() {
                settle(&mut tx, issuer, due, Some(&jobs::reason(&refused.join("; "))), now).await?;
            }
            let at = if at_once { now } else { jobs::RETRY.next_try(now, due.attempts) };
            outbox::postpone(&mut tx, issuer, due, Some(at), "its organization is not there yet").await?;
        }
        None => {
            let why = jobs::reason(&problem);
            tracing::warn!(kind = due.kind.word(), object = %due.object, attempt = due.attempts, error = why,
                "a change waits for the identity provider");
            let at = jobs::RETRY.next_try(now, due.attempts).max(not_before);
            outbox::postpone(&mut tx, issuer, due, Some(at), &why).await?;
        }
    }
    tx.commit().await?;
    Ok(is_away)
}

/// Stores the sync state of the object, if it still exists.
async fn settle(
    tx: &mut bailiwick_store::Tx,
    issuer: &str,
    due: &Due,
    refused: Option<&str>,
    now: bailiwick_domain::Ts,
) -> Result<()> {
    match due.kind {
        OutboxKind::User => {
            let user = UserId(due.object);
            if identities::get_steady(tx, user).await?.is_none() {
                return Ok(());
            }
            match refused {
                None => logto::user_synced(tx, issuer, user, now).await?,
                Some(why) => logto::user_failed(tx, issuer, user, why).await?,
            }
        }
        OutboxKind::Organization => {
            let organization = OrgId(due.object);
            if organizations::hold(tx, organization).await?.is_none() {
                return Ok(());
            }
            match refused {
                None => logto::organization_synced(tx, issuer, organization, now).await?,
                Some(why) => logto::organization_failed(tx, issuer, organization, why).await?,
            }
        }
        OutboxKind::Members | OutboxKind::Tree | OutboxKind::GoneUser | OutboxKind::GoneOrganization => {}
    }
    Ok(())
}

async fn deliver(service: &Identity, logto: &LogtoSync, due: &Due) -> std::result::Result<Outcome, Stop> {
    let gone = due.provider_id.as_deref();
    match (due.kind, gone) {
        (OutboxKind::User, _) => {
            Box::pin(user::deliver(service, logto, UserId(due.object), due.aspects)).await
        }
        (OutboxKind::Organization, _) => {
            Box::pin(organization::deliver(service, logto, OrgId(due.object), due.aspects)).await
        }
        (OutboxKind::Members | OutboxKind::Tree, _) => next_users(service, logto, due).await,
        (OutboxKind::GoneUser, Some(id)) => user::remove(logto, id).await,
        (OutboxKind::GoneOrganization, Some(id)) => remove_organization(logto, id).await,
        // An account that a creation with a lost response may have made.
        (OutboxKind::GoneUser, None) => {
            let Some(name) = &due.search_name else { return Ok(Outcome::Done) };
            match account::find(logto, UserId(due.object), name).await? {
                Some(id) => user::remove(logto, &id).await,
                None => Ok(Outcome::Done),
            }
        }
        (OutboxKind::GoneOrganization, None) => {
            let Some(name) = &due.search_name else { return Ok(Outcome::Done) };
            match organization::find(logto, OrgId(due.object), name).await? {
                Some(id) => remove_organization(logto, &id).await,
                None => Ok(Outcome::Done),
            }
        }
    }
}

async fn remove_organization(logto: &LogtoSync, id: &str) -> std::result::Result<Outcome, Stop> {
    logto.client.delete_organization(id).await.map(|()| Outcome::Done).map_err(Stop::Logto)
}

/// Queues the next users of an organization, or of its tree.
async fn next_users(service: &Identity, logto: &LogtoSync, due: &Due) -> std::result::Result<Outcome, Stop> {
    let id = OrgId(due.object);
    let Some(node) = organizations::node(&service.platform.db, id).await? else { return Ok(Outcome::Done) };
    let below = (due.kind == OutboxKind::Tree).then_some(node.org_type);
    let mut tx = service.platform.db.begin().await?;
    let (issuer, now) = (logto.issuer(), service.platform.now());
    let next = NextUsers { organization: id, below, after: due.after, limit: TREE_USERS };
    let last = outbox::put_next_users(&mut tx, issuer, next, due.aspects, now).await?;
    tx.commit().await?;
    Ok(last.map_or(Outcome::Done, Outcome::OnTo))
}
