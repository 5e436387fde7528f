//! Grouped refreshes: requests that wait at the same moment share one transaction, so many of them cost one flush to
//! disk.
//!
//! A group serves the plain case only: the presented token is the current one of its chain, and no other transaction
//! holds the chain. Everything else (a grace, a reuse, a refusal) is decided one by one in [`super::sessions`].

use super::bearer::unreadable;
use crate::TokenRequest;
use bailiwick_domain::{ChainId, Result, Ts, UserId};
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_store::{
    Db, StoreError,
    identities::Identified,
    sessions::{Chain, grouped_refresh},
};
use futures_util::{FutureExt, future::join_all};
use std::{collections::HashSet, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// Refreshes of one group at most.
const GROUP: usize = 64;

/// A genuine refresh token, and the token that would follow it.
#[derive(Debug)]
pub(crate) struct RefreshTurn {
    pub(crate) chain: ChainId,
    pub(crate) user: UserId,
    pub(crate) presented: Uuid,
    pub(crate) next: Uuid,
    /// When it was presented.
    pub(crate) at: Ts,
    /// The request, while it is being counted.
    pub(crate) counted: TokenRequest,
}

/// The writer; ends with the application.
#[derive(Debug)]
pub struct Refreshes {
    turns: GroupCommit<RefreshTurn, Result<Refreshed>>,
    /// Longest wait for the group's commit: its chains are read, then written.
    longest: Duration,
}

/// The chain after a refresh, with its user; none if this is not a plain case.
type Refreshed = Option<(Chain, Identified)>;

/// How long issued tokens live, and how long used tokens are remembered.
#[derive(Clone, Copy, Debug)]
pub struct TokenLifetimes {
    /// A refresh token.
    pub refresh: Duration,
    /// A token that was rotated out (spec: authentication#session-chains).
    pub grace: Duration,
}

impl Refreshes {
    /// Starts the writer on the tracker.
    pub fn start(db: &Db, lives: TokenLifetimes, tasks: &TaskTracker, stop: &CancellationToken) -> Refreshes {
        let (db, longest) = (db.clone(), db.longest_wait() * 2);
        Refreshes {
            longest,
            turns: GroupCommit::start(tasks, stop.clone(), GROUP, move |group| {
                write(db.clone(), lives, group)
            }),
        }
    }

    /// The chain after this refresh, with its user as read while the chain was locked. None: this is not a plain case,
    /// and nothing was changed.
    ///
    /// # Errors
    /// 429 beyond the rate of such requests; nothing was changed then. 503 when the outcome is unknown. The refresh may
    /// have been committed all the same; the presented token is then within its grace.
    pub(crate) async fn refresh(&self, turn: RefreshTurn) -> Result<Refreshed> {
        if self.turns.is_stopped() {
            return turn.counted.admitted().await.map(|()| None);
        }
        self.turns.submit_within(self.longest, turn).await.map_err(|lost| unreadable(lost.0))?
    }
}

async fn write(
    db: Db,
    lives: TokenLifetimes,
    mut group: Vec<RefreshTurn>,
) -> Result<Vec<Result<Refreshed>>, StoreError> {
    let ids: HashSet<Uuid> = group.iter().map(|turn| turn.chain.0).collect();
    let now = group.iter().map(|turn| turn.at).max().unwrap_or(Ts(0));
    let counted =
        group.iter_mut().map(|turn| std::mem::replace(&mut turn.counted, TokenRequest::admitted_before()));
    let mut admitting = join_all(counted.map(TokenRequest::admitted)).boxed();
    // The requests are counted while the chains are read. On SQLite counting needs the writer, which this transaction
    // takes.
    let early = if db.is_postgres() { None } else { Some((&mut admitting).await) };
    let mut tx = db.begin().await?;
    let mut chains = grouped_refresh::hold_free(&mut tx, ids.into_iter().collect()).await?;
    let admitted = match early {
        Some(admitted) => admitted,
        None => admitting.await,
    };
    let mut moves = Vec::with_capacity(group.len());
    let mut refresh = |turn: RefreshTurn| {
        // Removed from the map: of two refreshes of one chain in a group, the second is not a plain case.
        let (chain, user) = chains.remove(&turn.chain)?;
        let next = after(&chain, &user, &turn, lives)?;
        moves.push((next.clone(), turn.presented));
        Some((next, user))
    };
    let both = group.into_iter().zip(admitted);
    let made: Vec<_> = both.map(|(turn, admitted)| admitted.map(|()| refresh(turn))).collect();
    if !moves.is_empty() {
        grouped_refresh::rotate_held(&mut tx, &moves, now, now.minus(lives.grace)).await?;
        tx.commit().await?;
    }
    Ok(made)
}

/// The chain with its next token; none when this is not a plain case.
fn after(chain: &Chain, user: &Identified, turn: &RefreshTurn, lives: TokenLifetimes) -> Option<Chain> {
    let is_plain = chain.refresh_id == turn.presented
        && chain.user_id == turn.user
        && chain.revoked.is_none()
        && user.standing.is_enabled();
    let issued = Ts::from_secs(turn.at.secs());
    is_plain.then(|| Chain {
        refresh_id: turn.next,
        refresh_issued_at: issued,
        expires_at: issued.plus(lives.refresh),
        ..chain.clone()
    })
}
