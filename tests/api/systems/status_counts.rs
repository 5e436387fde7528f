//! Systems by status are counted as they change: the counters equal the rows, whatever happened.

use super::*;
use bailiwick_alerts::liveness_monitor;
use bailiwick_domain::{PageRequest, SortDirection, SystemId, SystemStatus, Ts};
use bailiwick_policy::Scope;
use bailiwick_store::{
    Db,
    systems::{
        self, Known, Part, StatusFilter, SystemFilter, SystemOrder,
        stats::{counted_totals, counters, kept_totals, totals, unsettled_systems},
        status_counts,
    },
    walk::Step,
};
use bailiwick_testkit::{Engine, seed::Seeded};
use futures_util::future::join_all;
use uuid::Uuid;

/// Counters as they are, and as the rows would have them.
const COUNTERS: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM organization_counts n WHERE \
     systems <> (SELECT COUNT(*) FROM systems s WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL) \
     OR systems_suspended <> (SELECT COUNT(*) FROM systems s WHERE s.organization_id = n.organization_id \
       AND s.deleted_at IS NULL AND s.suspended_at IS NOT NULL) \
     OR systems_unheard <> (SELECT COUNT(*) FROM systems s LEFT JOIN system_activity a ON a.system_id = s.id \
       WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
       AND COALESCE(a.counted, 0) = 0) \
     OR systems_silent <> (SELECT COUNT(*) FROM systems s JOIN system_activity a ON a.system_id = s.id \
       WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
       AND a.counted = 2)";

/// Rows of lists in the order of status that are missing, wrong or too many.
const STATUSES: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM systems s JOIN system_activity a ON a.system_id = s.id \
     LEFT JOIN system_statuses l ON l.system_id = s.id AND l.counted = a.counted AND l.organization_id = s.organization_id \
     AND COALESCE(l.p2, l.system_id) = COALESCE(s.p2, s.id) AND COALESCE(l.p3, l.system_id) = COALESCE(s.p3, s.id) \
     WHERE s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.counted <> 0 AND l.system_id IS NULL) \
     + (SELECT CAST(COUNT(*) AS BIGINT) FROM system_statuses l WHERE NOT EXISTS (SELECT 1 FROM systems s \
     JOIN system_activity a ON a.system_id = s.id WHERE s.id = l.system_id AND s.deleted_at IS NULL \
     AND s.suspended_at IS NULL AND a.counted = l.counted))";

const INACTIVE: StatusFilter = StatusFilter::Is(SystemStatus::Inactive);
const UNKNOWN: StatusFilter = StatusFilter::Is(SystemStatus::Unknown);

fn scopes(tree: &bailiwick_testkit::seed::Tree) -> Vec<Scope> {
    let below = |root, org_type| Scope::Subtree { root, org_type };
    vec![
        Scope::Everything,
        below(tree.distributor, OrgType::Distributor),
        below(tree.other_distributor, OrgType::Distributor),
        below(tree.reseller, OrgType::Reseller),
        Scope::Organization(tree.customer),
        Scope::Organization(tree.other_customer),
    ]
}

/// Compares the kept counters with the rows, for every scope; returns whether the counters were good for this moment.
async fn compare(t: &Test, scopes: &[Scope], what: &str) -> bool {
    let wrong = Q::new(COUNTERS).count(&t.app.db).await.unwrap();
    assert_eq!(wrong, 0, "organizations with wrong counters after {what}");
    let wrong = Q::new(STATUSES).count(&t.app.db).await.unwrap();
    assert_eq!(wrong, 0, "rows of lists by status that are wrong after {what}");
    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
    let mut are_good = true;
    let unsettled = unsettled_systems(&t.app.db).await.unwrap();
    for (n, scope) in scopes.iter().enumerate() {
        let expected = counted_totals(&t.app.db, scope, cutoff).await.unwrap();
        match kept_totals(&t.app.db, scope, cutoff).await.unwrap() {
            Some(kept) => assert_eq!(kept, expected, "{scope:?} after {what}"),
            None => are_good = false,
        }
        assert_eq!(totals(&t.app.db, scope, cutoff).await.unwrap(), expected);
        let (epochs, _, lag) = counters(&t.app.db, scope, cutoff).await.unwrap();
        assert_eq!((unsettled.epochs, unsettled.lag(scope, cutoff)), (epochs, lag), "{scope:?} after {what}");
        if !matches!(scope, Scope::Organization(_)) {
            let direction = [SortDirection::Asc, SortDirection::Desc][n % 2];
            ranked::compare(t, scope, n, cutoff, what).await;
            for statuses in [None, Some(vec![INACTIVE]), Some(vec![UNKNOWN, INACTIVE])] {
                let listed = by_status(&t.app.db, scope, direction, &statuses, cutoff).await;
                assert_eq!(listed.0, listed.1, "{statuses:?} of {scope:?} {direction:?} after {what}");
            }
        }
    }
    are_good
}

/// The systems of a scope in the order of status: as the pages of the list have them, and as the heartbeats say.
async fn by_status(
    db: &Db,
    scope: &Scope,
    direction: SortDirection,
    statuses: &Option<Vec<StatusFilter>>,
    cutoff: Ts,
) -> (Vec<SystemId>, Vec<SystemId>) {
    let filter = SystemFilter { statuses: statuses.clone(), ..SystemFilter::default() };
    let order = (SystemOrder::Status, direction);
    let mut listed = Vec::new();
    for page in 1..=2 {
        let part = Part { order, page: PageRequest { page, page_size: 5 }, cutoff };
        let page = systems::list(db, scope, &filter, part, Known::default()).await.unwrap();
        listed.extend(page.rows.into_iter().map(|record| record.system.id));
    }
    // A filter that every name fits: then the heartbeats decide.
    let filter = SystemFilter { name: Some(String::new()), ..filter };
    let all = Step { after: None, rows: 1_000, bytes: None };
    let walked = systems::walk(db, scope, &filter, order, cutoff, Known::default(), &all).await.unwrap();
    assert!(walked.next.is_none(), "more than {all:?}");
    (listed, walked.rows.into_iter().map(|record| record.system.id).take(10).collect())
}

/// A small generator: the same walk in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

async fn beat(t: &Test, s: &Seeded) {
    // Whatever its state: a suspended or deleted one is refused.
    let _ = t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await;
}

async fn verb(t: &Test, who: &Persona, path: &str, verb: &str) {
    let path = format!("/api/{path}");
    let call = match verb {
        "delete" => t.delete(&path),
        "destroy" => t.delete(&format!("{path}/destroy")),
        _ => t.patch(&format!("{path}/{verb}")),
    };
    let status = call.bearer(&who.token).send().await.status;
    assert!(status.as_u16() < 500, "{verb} {path}: {status}");
}

// Random changes and moments, others on each engine; after each, every kept total is that of the rows.
api_test!(kept_totals_are_those_of_the_rows_whatever_happens, |t| async move {
    let t = &t;
    let seed = if t.engine == Engine::Sqlite { 0x9e37_79b9_7f4a_7c15 } else { 0xd1b5_4a32_d192_ed03 };
    let tree = t.tree().await;
    let (owner_id, scopes) = (t.owner().await.id, scopes(&tree));
    let homes = [tree.customer, tree.reseller, tree.other_customer];
    let mut systems = Vec::new();
    for n in 0..9 {
        systems.push(t.system(homes[n % 3]).await);
    }
    let verbs = ["suspend", "reactivate", "delete", "restore", "suspend", "reactivate", "restore"];
    let (mut dice, mut good) = (Dice(seed), 0);
    let mut owner = t.session(owner_id).await;
    for step in 0..80 {
        let n = dice.next(systems.len());
        let what = match dice.next(12) {
            0..4 => {
                beat(t, &systems[n]).await;
                format!("{step}: a heartbeat")
            }
            4..6 => {
                let verb_of = verbs[dice.next(verbs.len())];
                verb(t, &owner, &format!("systems/{}", systems[n].id), verb_of).await;
                format!("{step}: {verb_of}")
            }
            6 => {
                let (family, id) = [
                    ("customers", tree.customer),
                    ("resellers", tree.reseller),
                    ("distributors", tree.distributor),
                ][dice.next(3)];
                let verb_of = verbs[dice.next(verbs.len())];
                verb(t, &owner, &format!("{family}/{id}"), verb_of).await;
                format!("{step}: {verb_of} {family}")
            }
            7 => {
                let body = json!({"organization_id": homes[dice.next(3)]});
                let reply = put(t, &owner, &systems[n].id.to_string(), body).await;
                assert!(reply.status.as_u16() < 500, "{}", reply.text());
                format!("{step}: a move")
            }
            8 if step % 3 == 0 => {
                verb(t, &owner, &format!("systems/{}", systems[n].id), "destroy").await;
                format!("{step}: destroyed")
            }
            8 => {
                let body = json!({"name": "New", "organization_id": homes[dice.next(3)]});
                assert!(post(t, &owner, body).await.status.as_u16() < 500);
                format!("{step}: created")
            }
            9 => {
                liveness_monitor::check(&t.app).await.unwrap();
                format!("{step}: a check")
            }
            _ => {
                t.advance(Duration::from_secs([20, 59, 60, 240, 1171, 1200][dice.next(6)]));
                owner = t.session(owner_id).await;
                liveness_monitor::check(&t.app).await.unwrap();
                // The clock alone turns systems until the next check.
                for seconds in [0, 1, 59, 60, 59] {
                    t.advance(Duration::from_secs(seconds));
                    good += usize::from(compare(t, &scopes, &format!("{step}: {seconds} s")).await);
                }
                format!("{step}: a while")
            }
        };
        good += usize::from(compare(t, &scopes, &what).await);
        // The service adds the counters up once for each state of them.
        let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
        let rows = counted_totals(&t.app.db, &Scope::Everything, cutoff).await.unwrap();
        let told = get(t, &owner, "/totals").await.expect(200).data();
        for (word, n) in [("active", rows.active), ("inactive", rows.inactive), ("unknown", rows.unknown)] {
            assert_eq!(told[word], n, "{word} after {what}");
        }
        assert_eq!(told["total"], rows.total, "after {what}");
        ranked::is_told(t, &owner, &what).await;
    }
    assert!(good > 50, "the counters were good {good} times");
    // A recount changes nothing but the silent systems, which the next check finds.
    let mut tx = t.app.db.begin().await.unwrap();
    status_counts::recount(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert!(!compare(t, &scopes, "a recount").await);
    liveness_monitor::check(&t.app).await.unwrap();
    assert!(compare(t, &scopes, "the check after it").await);
});

api_test!(a_check_settles_what_was_heard_and_what_fell_silent, |t| async move {
    let tree = t.tree().await;
    let scopes = scopes(&tree);
    let systems = join_all((0..3).map(|_| t.system(tree.customer))).await;
    let unsettled = async || {
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM system_unsettled").count(&t.app.db).await.unwrap()
    };
    assert!(!compare(&t, &scopes, "nothing").await);
    liveness_monitor::check(&t.app).await.unwrap();
    assert!(compare(&t, &scopes, "the first check").await);
    for s in &systems {
        beat(&t, s).await;
    }
    assert_eq!(unsettled().await, 3);
    assert!(compare(&t, &scopes, "first heartbeats").await);
    liveness_monitor::check(&t.app).await.unwrap();
    assert_eq!(unsettled().await, 0);
    // Further ones leave nothing to be done.
    t.advance(Duration::from_secs(600));
    beat(&t, &systems[0]).await;
    assert_eq!(unsettled().await, 0);
    // A check finds the other systems three minutes before they fall silent, and looks at no further system.
    t.advance(Duration::from_secs(480));
    liveness_monitor::check(&t.app).await.unwrap();
    assert_eq!(unsettled().await, 2);
    t.advance(Duration::from_secs(119));
    assert!(compare(&t, &scopes, "the last second").await);
    t.advance(Duration::from_secs(1));
    assert!(compare(&t, &scopes, "silence").await);
    // Half a minute later, for clocks that differ, they are counted as silent.
    t.advance(Duration::from_secs(30));
    liveness_monitor::check(&t.app).await.unwrap();
    assert_eq!(unsettled().await, 0);
    beat(&t, &systems[1]).await;
    assert_eq!(unsettled().await, 1);
    assert!(compare(&t, &scopes, "one that came back").await);
    // The counters hold only as long as the last check has looked ahead; after that the service counts the rows.
    t.advance(Duration::from_secs(181));
    assert!(!compare(&t, &scopes, "an outage of the monitor").await);
});

api_test!(readers_use_the_counts_as_they_are_while_very_many_systems_are_unsettled, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    liveness_monitor::check(&t.app).await.unwrap();
    let systems = join_all((0..2).map(|_| t.system(tree.customer))).await;
    beat(&t, &systems[0]).await;
    // Ids of no system, so that the next check removes them.
    let crowd: Vec<Uuid> = (1..=2_000).map(Uuid::from_u128).collect();
    for ids in crowd.chunks(500) {
        let mut q = Q::new("INSERT INTO system_unsettled (system_id) VALUES (?)").bind(ids[0]);
        for id in &ids[1..] {
            q.push(", (?)").arg(*id);
        }
        let mut tx = t.app.db.begin().await.unwrap();
        q.run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    let shown = async || {
        let totals = get(&t, &owner, "/totals").await.expect(200).data();
        let (active, unknown) = (totals["active"].as_u64().unwrap(), totals["unknown"].as_u64().unwrap());
        let mut listed = Vec::new();
        // By the index of counted statuses, by cached ids, and by a cursor.
        for query in [
            "?status=active&sort_by=status",
            "?status=active&search=sys",
            "?status=active&sort_by=status&cursor=",
        ] {
            listed.push(get(&t, &owner, query).await.expect(200).data()["systems"].as_array().unwrap().len());
        }
        (active, unknown, listed)
    };
    assert_eq!(shown().await, (0, 2, vec![0, 0, 0]), "as counted before the heartbeat");
    liveness_monitor::check(&t.app).await.unwrap();
    assert_eq!(shown().await, (1, 1, vec![1, 1, 1]), "settled by the check");
});

api_test!(kept_totals_stay_true_among_writers_of_all_kinds, |t| async move {
    let tree = t.tree().await;
    let (owner, scopes) = (t.owner().await, scopes(&tree));
    let homes = [tree.customer, tree.reseller, tree.other_customer];
    let mut systems = Vec::new();
    for n in 0..6 {
        systems.push(t.system(homes[n % 3]).await);
    }
    liveness_monitor::check(&t.app).await.unwrap();
    let (t, systems, owner) = (&t, &systems, &owner);
    for round in 0..6_usize {
        t.advance(Duration::from_secs(if round % 2 == 0 { 1230 } else { 30 }));
        let owner = &t.session(owner.id).await;
        let beats = async {
            for s in systems.iter().cycle().take(18) {
                beat(t, s).await;
            }
        };
        let marks = async {
            for (n, s) in systems.iter().enumerate() {
                let path = format!("systems/{}", s.id);
                for word in [["suspend", "reactivate"], ["delete", "restore"]][(n + round) % 2] {
                    verb(t, owner, &path, word).await;
                }
            }
        };
        let moves = async {
            for (n, s) in systems.iter().enumerate() {
                put(t, owner, &s.id.to_string(), json!({"organization_id": homes[(n + round) % 3]})).await;
            }
        };
        let checks = async {
            for _ in 0..6 {
                liveness_monitor::check(&t.app).await.unwrap();
            }
        };
        tokio::join!(beats, marks, moves, checks);
        assert!(compare(t, &scopes, &format!("round {round}")).await);
    }
    liveness_monitor::check(&t.app).await.unwrap();
    let left =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM system_unsettled").count(&t.app.db).await.unwrap();
    assert_eq!(left, 0, "passed over, but not for ever");
});

api_test!(systems_of_a_promoted_reseller_are_listed_by_status_in_its_new_place, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    for home in [tree.reseller, tree.customer] {
        beat(&t, &t.system(home).await).await;
    }
    liveness_monitor::check(&t.app).await.unwrap();
    assert!(compare(&t, &scopes(&tree), "the check").await);
    let path = format!("/api/resellers/{}/promote", tree.reseller);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    let below = Scope::Subtree { root: tree.reseller, org_type: OrgType::Distributor };
    let scopes = [below, Scope::Subtree { root: tree.distributor, org_type: OrgType::Distributor }];
    assert!(compare(&t, &scopes, "the promotion").await);
    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
    let (listed, _) = by_status(&t.app.db, &below, SortDirection::Desc, &None, cutoff).await;
    assert_eq!(listed.len(), 2);
});
