//! What the impersonator and the target can read about their sessions, and the retention of these records (spec:
//! impersonation#requests-while-impersonating).

use crate::{Identity, auth::invalid};
use bailiwick_domain::{Error, ImpersonationId, ObjectKind, Page, PageRequest, Result, Ts};
use bailiwick_policy::Caller;
use bailiwick_store::impersonation::{
    consents,
    entries::{self, ImpersonationEntry},
    sessions::{self, Cause, Session, Side, Which},
};

/// When a session ended; none = it is live.
pub fn over_at(session: &Session, now: Ts) -> Option<Ts> {
    let by_itself = (session.expires_at <= now).then_some(session.expires_at);
    session.end.as_ref().map(|end| end.at).or(by_itself)
}

/// One page of the caller's sessions, the newest first; without a side, none.
pub async fn sessions(
    service: &Identity,
    caller: &Caller,
    side: Option<Side>,
    page: PageRequest,
) -> Result<Page<Session>> {
    let user = caller.user_id().ok_or_else(invalid)?;
    match side {
        Some(side) => Ok(sessions::of_user(&service.platform.db, user, side, page).await?),
        None => Ok(Page { rows: Vec::new(), total: 0, request: page }),
    }
}

/// A session in which the caller is one of the two users. `id`: none = malformed.
pub async fn session(service: &Identity, caller: &Caller, id: Option<ImpersonationId>) -> Result<Session> {
    let user = caller.user_id().ok_or_else(invalid)?;
    let missing = || Error::NotFound(ObjectKind::Session);
    let session = sessions::get(&service.platform.db, id.ok_or_else(missing)?).await?;
    session.filter(|s| s.impersonator.id == user || s.impersonated.id == user).ok_or_else(missing)
}

/// One page of the requests recorded in a session, the oldest first.
pub async fn audit(
    service: &Identity,
    caller: &Caller,
    id: Option<ImpersonationId>,
    page: PageRequest,
) -> Result<(Session, Page<ImpersonationEntry>)> {
    let session = session(service, caller, id).await?;
    let entries = entries::of_session(&service.platform.db, session.id, page).await?;
    Ok((session, entries))
}

/// The numbers of rows that [`purge`] has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    pub sessions: u64,
    pub entries: u64,
    /// Expired consents.
    pub consents: u64,
}

/// The number of sessions and entries that [`purge`] would remove.
pub async fn count_old(service: &Identity) -> Result<Purged> {
    let limit = service.platform.now().minus(service.settings.impersonation.audit_retention);
    let (sessions, entries) = (
        sessions::count_old(&service.platform.db, limit).await?,
        entries::count_old(&service.platform.db, limit).await?,
    );
    Ok(Purged { sessions, entries, consents: 0 })
}

/// Rows of one statement.
const CHUNK: i64 = 500;

/// Records the end of expired sessions, and removes records past their retention: ended sessions, their entries first,
/// and expired consents. It works in small transactions.
pub async fn purge(service: &Identity) -> Result<Purged> {
    let now = service.platform.now();
    let limit = now.minus(service.settings.impersonation.audit_retention);
    let mut removed = Purged::default();
    while !service.platform.stop.is_cancelled() {
        let mut tx = service.platform.db.begin_relaxed().await?;
        let ended = sessions::end(&mut tx, Which::Expired(CHUNK), now, Cause::Expiry, None).await?;
        let entries = entries::purge(&mut tx, limit, CHUNK).await?;
        // Only those without entries, which go first.
        let sessions = sessions::purge(&mut tx, limit, CHUNK).await?;
        let consents = consents::purge(&mut tx, now, CHUNK).await?;
        tx.commit().await?;
        removed.entries += entries;
        removed.sessions += sessions;
        removed.consents += consents;
        if ended + entries + sessions + consents == 0 {
            break;
        }
    }
    Ok(removed)
}
