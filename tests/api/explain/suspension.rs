//! The writes of a suspension: rows, each in its page, and no index (docs/tree.md).

use super::*;
use bailiwick_policy::{Action, Caller, OrgTarget, decide};
use bailiwick_store::{
    Tx,
    organizations::lifecycle::{self, Affected, LifecycleMark},
};

/// The rows of `organizations` that this connection has written and not yet reported, and how many of them were written
/// without any index.
async fn written(tx: &mut Tx) -> (i64, i64) {
    let sql = "SELECT pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid) \
         FROM pg_class WHERE relname = 'organizations'";
    Q::new(sql).one(tx).await.unwrap()
}

async fn turn(db: &Db, id: OrgId, time: Option<Ts>) -> Affected {
    const FAMILY: OrgType = OrgType::Distributor;
    let mut tx = db.begin().await.unwrap();
    let before = written(&mut tx).await;
    lifecycle::hold_marks(&mut tx, id).await.unwrap().unwrap();
    let node = organizations::node(&mut tx, id).await.unwrap().unwrap();
    let action = if time.is_some() { Action::Suspend } else { Action::Reactivate };
    let target = decide(&Caller::Worker, action, &OrgTarget { family: FAMILY, node }).granted().unwrap();
    let affected = lifecycle::set(&mut tx, &target, FAMILY, LifecycleMark::Suspended, time).await.unwrap();
    let after = written(&mut tx).await;
    let (rows, in_place) = (after.0 - before.0, after.1 - before.1);
    tx.commit().await.unwrap();
    let below = i64::try_from(affected.resellers + affected.customers).unwrap();
    assert!(below > 500 && rows > below, "{affected:?}, {rows} rows");
    // The index of the own marks has the organization itself.
    assert_eq!(in_place, rows - 1, "{action:?}");
    affected
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspension_writes_no_index() {
    let cluster = Cluster::start().await.unwrap();
    // A process that reads the tables keeps the old rows there from making room.
    cluster.execute("ALTER SYSTEM SET autovacuum = off").await.unwrap();
    cluster.execute("SELECT pg_reload_conf()").await.unwrap();
    let plan = Plan { organizations: 2_000, systems: 2_000, users: None, applications: false, seed: 1 };
    let db = fill_with(&cluster, &plan).await;
    let Scope::Subtree { root, .. } = callers(&db).await.distributor else { panic!("a distributor") };
    let mut before = None;
    for n in 0..6 {
        let affected = turn(&db, root, (n % 2 == 0).then_some(Ts(n))).await;
        assert_eq!(*before.get_or_insert(affected), affected);
    }
    db.close().await;
}
