//! Runs requests that only read on the replica of the database, if there is one (`database.read_url`).

use crate::{Platform, shared_read::SharedRead};
use bailiwick_store::replica::{Reads, State};

/// The last check of the replica.
#[derive(Debug, Default)]
pub struct ReplicaCheck(SharedRead<bool>);

/// Runs a request that only reads, after its caller was authenticated on the primary. It reads from the replica if that
/// has replayed everything that was committed before this call, else from the primary. Requests share the check. None
/// waits for a replica that has failed: a task checks from time to time whether it can be used again.
pub async fn read<T>(platform: &Platform, request: impl Future<Output = T>) -> T {
    let db = &platform.db;
    let from_replica = match db.replica_state() {
        State::Missing => return request.await,
        State::Used => {
            let check = async { Ok(db.has_replica_caught_up().await) };
            platform.replica_check.0.get(check).await.is_ok_and(|has| has)
        }
        State::Resting => false,
        State::Due => {
            let db = db.clone();
            platform.tasks.spawn(async move { db.has_replica_caught_up().await });
            false
        }
    };
    db.note_reader(from_replica);
    if from_replica { Reads::from_replica().run(request).await } else { request.await }
}
