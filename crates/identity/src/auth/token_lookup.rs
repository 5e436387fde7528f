//! Reads the chains and users of access tokens in groups. All requests that wait when a read starts share it, so many
//! of them cost one round trip and one statement. Nothing is kept from one group to the next: every request is answered
//! from a read that began after it arrived, so each process refuses at once what any process has revoked.

use super::{bearer::unreadable, user_object::identity_of};
use bailiwick_domain::{ChainId, Result, Ts};
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_policy::{Catalogue, UserIdentity};
use bailiwick_store::{Db, StoreError, identities::Standing, sessions};
use std::{collections::HashMap, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// Chains read by one statement at most.
const ROWS: usize = 256;

/// A chain and its user, as they are now.
#[derive(Debug)]
pub(crate) struct Bearer {
    /// The user and their rights.
    pub(crate) identity: Arc<UserIdentity>,
    /// Whether the user may sign in.
    pub(crate) standing: Standing,
    /// When the person last proved who they are.
    pub(crate) signed_in_at: Ts,
    /// The reason once the chain is revoked.
    pub(crate) revoked: Option<String>,
}

/// The reader; ends with the application.
#[derive(Debug)]
pub struct TokenLookup {
    rows: GroupCommit<ChainId, Option<Arc<Bearer>>>,
    db: Db,
    catalogue: Arc<Catalogue>,
}

impl TokenLookup {
    /// Starts the reader on the tracker.
    pub fn start(
        db: &Db,
        catalogue: &Arc<Catalogue>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> TokenLookup {
        let (own_db, own_catalogue) = (db.clone(), catalogue.clone());
        let read = move |group| read(own_db.clone(), own_catalogue.clone(), group);
        TokenLookup {
            rows: GroupCommit::start(tasks, stop.clone(), ROWS, read),
            db: db.clone(),
            catalogue: catalogue.clone(),
        }
    }

    /// The chain with its user, from a read that starts after this call; none = no such chain.
    ///
    /// # Errors
    /// 503 when the chain cannot be read.
    pub(crate) async fn find(&self, chain: ChainId) -> Result<Option<Arc<Bearer>>> {
        if self.rows.is_stopped() {
            // The process is stopping: its last requests do not wait for a group.
            let read = read(self.db.clone(), self.catalogue.clone(), vec![chain]).await;
            return Ok(read.map_err(unreadable)?.pop().flatten());
        }
        self.rows.submit_within(self.db.longest_wait(), chain).await.map_err(|lost| unreadable(lost.0))
    }
}

async fn read(
    db: Db,
    catalogue: Arc<Catalogue>,
    group: Vec<ChainId>,
) -> Result<Vec<Option<Arc<Bearer>>>, StoreError> {
    let mut ids: Vec<Uuid> = group.iter().map(|chain| chain.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let rows = sessions::with_users(&db, ids).await?;
    let bearers: HashMap<ChainId, Arc<Bearer>> = rows
        .into_iter()
        .map(|(chain, user)| {
            let standing = user.standing;
            let identity = Arc::new(identity_of(&catalogue, user));
            (
                chain.id,
                Arc::new(Bearer {
                    identity,
                    standing,
                    signed_in_at: chain.signed_in_at,
                    revoked: chain.revoked,
                }),
            )
        })
        .collect();
    Ok(group.iter().map(|chain| bearers.get(chain).cloned()).collect())
}
