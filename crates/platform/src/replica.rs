//! Runs requests that only read on the replica of the database, if there is one (`database.read_url`).

use crate::{Platform, shared_read::SharedRead};
use bailiwick_store::replica::Reads;

/// The last check of the replica.
#[derive(Debug, Default)]
pub struct ReplicaCheck(SharedRead<bool>);

/// Runs a request that only reads, after its caller was authenticated on the primary. It reads from the replica if that has
/// replayed everything that was committed before this call, else from the primary. Requests share the check.
pub async fn read<T>(platform: &Platform, request: impl Future<Output = T>) -> T {
    let db = &platform.db;
    let check = async { Ok(db.has_replica_caught_up().await) };
    if db.has_replica() && platform.replica_check.0.get(check).await.is_ok_and(|caught_up| caught_up) {
        Reads::from_replica().run(request).await
    } else {
        request.await
    }
}
