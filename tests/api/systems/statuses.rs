//! The stored status of a system and the numbers of systems by status are those of the rows, whatever happened.

use super::*;
use bailiwick_alerts::liveness_monitor;
use bailiwick_domain::{PageRequest, SortDirection, SystemId, SystemStatus};
use bailiwick_policy::Scope;
use bailiwick_store::{
    Db,
    systems::{
        self, KnownCounts, OrderedPage, StatusFilter, SystemFilter, SystemOrder,
        stats::{totals, totals_at},
        status,
    },
    walk::Step,
};
use bailiwick_testkit::{Engine, seed::Seeded};
use futures_util::future::join_all;
use tokio::time::timeout;

/// Counters as they are, and as the rows would have them.
const COUNTERS: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM organization_counts n WHERE \
     systems <> (SELECT COUNT(*) FROM systems s WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL) \
     OR systems_suspended <> (SELECT COUNT(*) FROM systems s WHERE s.organization_id = n.organization_id \
       AND s.deleted_at IS NULL AND s.suspended_at IS NOT NULL) \
     OR systems_unknown <> (SELECT COUNT(*) FROM systems s JOIN system_activity a ON a.system_id = s.id \
       WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
       AND a.status = 0) \
     OR systems_inactive <> (SELECT COUNT(*) FROM systems s JOIN system_activity a ON a.system_id = s.id \
       WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL \
       AND a.status = 2)";

/// Systems without their row of activity, or with one of another place.
const PLACES: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM systems s LEFT JOIN system_activity a ON a.system_id = s.id \
     AND a.organization_id = s.organization_id AND a.p2 = s.p2 AND a.p3 = s.p3 WHERE a.system_id IS NULL";

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

/// Compares the counters, and lists in the order of status, with the rows, for every scope.
async fn compare(t: &Test, scopes: &[Scope], what: &str) {
    for (statement, wrong) in [(COUNTERS, "organizations with wrong counters"), (PLACES, "wrong places")] {
        assert_eq!(Q::new(statement).count(&t.app.platform.db).await.unwrap(), 0, "{wrong} after {what}");
    }
    for (n, scope) in scopes.iter().enumerate() {
        let direction = [SortDirection::Asc, SortDirection::Desc][n % 2];
        for statuses in [None, Some(vec![INACTIVE]), Some(vec![UNKNOWN, INACTIVE])] {
            let listed = by_status(&t.app.platform.db, scope, direction, &statuses).await;
            assert_eq!(listed.0, listed.1, "{statuses:?} of {scope:?} {direction:?} after {what}");
        }
    }
}

/// The same after a check: the numbers are those of the heartbeats.
async fn compare_checked(t: &Test, scopes: &[Scope], what: &str) {
    liveness_monitor::check(&t.app.alerts).await.unwrap();
    compare(t, scopes, what).await;
    let cutoff = t.app.platform.now().minus(t.app.settings.systems.liveness_timeout);
    for scope in scopes {
        let expected = totals_at(&t.app.platform.db, scope, cutoff).await.unwrap();
        assert_eq!(totals(&t.app.platform.db, scope).await.unwrap(), expected, "{scope:?} after {what}");
    }
}

/// The systems of a scope in the order of status: as the pages of the list find them by its index, and as
/// they are found among the rows.
async fn by_status(
    db: &Db,
    scope: &Scope,
    direction: SortDirection,
    statuses: &Option<Vec<StatusFilter>>,
) -> (Vec<SystemId>, Vec<SystemId>) {
    let filter = SystemFilter { statuses: statuses.clone(), ..SystemFilter::default() };
    let order = (SystemOrder::Status, direction);
    let mut listed = Vec::new();
    for page in 1..=2 {
        let part = OrderedPage { order, page: PageRequest { page, page_size: 5 } };
        let page = systems::list(db, scope, &filter, part, KnownCounts::default()).await.unwrap();
        listed.extend(page.rows.into_iter().map(|record| record.system.id));
    }
    // A filter that every name fits.
    let filter = SystemFilter { name: Some(String::new()), ..filter };
    let all = Step { after: None, rows: 1_000, bytes: None };
    let walked = systems::walk(db, scope, &filter, order, KnownCounts::default(), &all).await.unwrap();
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

// Random changes and moments, others on each engine.
api_test!(numbers_are_those_of_the_rows_whatever_happens, |t| async move {
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
    let mut dice = Dice(seed);
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
            _ => {
                t.advance(Duration::from_secs([20, 59, 60, 240, 1171, 1200][dice.next(6)]));
                owner = t.session(owner_id).await;
                compare_checked(t, &scopes, &format!("{step}: a while")).await;
                format!("{step}: a check")
            }
        };
        compare(t, &scopes, &what).await;
        // The service adds the counters up once for each state of them.
        let rows = totals(&t.app.platform.db, &Scope::Everything).await.unwrap();
        let shown = get(t, &owner, "/totals").await.expect(200).data();
        for (word, n) in [("active", rows.active), ("inactive", rows.inactive), ("unknown", rows.unknown)] {
            assert_eq!(shown[word], n, "{word} after {what}");
            let query = format!("?search=sys&status={word}&page_size=1");
            let listed = get(t, &owner, &query).await.expect(200).data();
            assert_eq!(listed["pagination"]["total_count"], n, "{query} after {what}");
        }
        assert_eq!(shown["total"], rows.total, "after {what}");
    }
    compare_checked(t, &scopes, "all of it").await;
    let before = totals(&t.app.platform.db, &Scope::Everything).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    status::recount(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(totals(&t.app.platform.db, &Scope::Everything).await.unwrap(), before, "a recount");
});

api_test!(a_check_sets_what_time_has_changed, |t| async move {
    let tree = t.tree().await;
    let scopes = scopes(&tree);
    let systems = join_all((0..3).map(|_| t.system(tree.customer))).await;
    let numbers = async || {
        let totals = totals(&t.app.platform.db, &Scope::Everything).await.unwrap();
        [totals.unknown, totals.active, totals.inactive]
    };
    assert_eq!(numbers().await, [3, 0, 0]);
    for s in &systems[..2] {
        beat(&t, s).await;
    }
    assert_eq!(numbers().await, [1, 2, 0], "without a check");
    t.advance(Duration::from_secs(600));
    beat(&t, &systems[0]).await;
    t.advance(Duration::from_secs(599));
    compare_checked(&t, &scopes, "the last second").await;
    assert_eq!(numbers().await, [1, 2, 0]);
    t.advance(Duration::from_secs(1));
    assert_eq!(numbers().await, [1, 2, 0], "until a check");
    compare_checked(&t, &scopes, "silence").await;
    assert_eq!(numbers().await, [1, 1, 1]);
    beat(&t, &systems[1]).await;
    assert_eq!(numbers().await, [1, 2, 0], "without a check");
    // As a process with another timeout does it.
    t.advance(Duration::from_secs(1));
    let all: Vec<SystemId> = systems.iter().map(|s| s.id).collect();
    for (cutoff, expected) in [
        (t.app.platform.now(), [1, 0, 2]),
        (t.app.platform.now().minus(Duration::from_secs(1_000)), [1, 2, 0]),
    ] {
        let due = status::due(&t.app.platform.db, cutoff, 10).await.unwrap();
        assert_eq!(due.len(), 2, "{due:?}");
        assert_eq!(status::update_some(&t.app.platform.db, &all, cutoff).await.unwrap(), 2);
        assert_eq!(numbers().await, expected);
        assert_eq!(status::due(&t.app.platform.db, cutoff, 10).await.unwrap(), []);
        compare(&t, &scopes, "another timeout").await;
    }
});

// A heartbeat that waited for a change of its system would hold what the change waits for.
api_test!(a_heartbeat_does_not_wait_for_a_change_of_its_system, |t| async move {
    let tree = t.tree().await;
    let scopes = scopes(&tree);
    let system = t.system(tree.customer).await;
    beat(&t, &system).await;
    t.advance(Duration::from_secs(1201));
    compare_checked(&t, &scopes, "silence").await;
    if t.engine == Engine::Postgres {
        let mut tx = t.begin_apart().await;
        systems::lock(&mut tx, system.id).await.unwrap().expect("the system");
        let beat = t.post("/systems/heartbeat").basic(&system.key, &system.secret).send();
        timeout(Duration::from_secs(20), beat).await.expect("an answer").expect(200);
        drop(tx);
    } else {
        // One transaction writes at a time.
        beat(&t, &system).await;
    }
    compare(&t, &scopes, "a heartbeat").await;
    assert_eq!(totals(&t.app.platform.db, &Scope::Everything).await.unwrap().active, 1);
});

api_test!(numbers_stay_true_among_writers_of_all_kinds, |t| async move {
    let tree = t.tree().await;
    let (owner, scopes) = (t.owner().await, scopes(&tree));
    let homes = [tree.customer, tree.reseller, tree.other_customer];
    let mut systems = Vec::new();
    for n in 0..6 {
        systems.push(t.system(homes[n % 3]).await);
    }
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
                liveness_monitor::check(&t.app.alerts).await.unwrap();
            }
        };
        tokio::join!(beats, marks, moves, checks);
        compare(t, &scopes, &format!("round {round}")).await;
        compare_checked(t, &scopes, &format!("a check after round {round}")).await;
    }
});

api_test!(systems_of_a_promoted_reseller_are_listed_by_status_in_its_new_place, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    for home in [tree.reseller, tree.customer] {
        beat(&t, &t.system(home).await).await;
    }
    let path = format!("/api/resellers/{}/promote", tree.reseller);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    let below = Scope::Subtree { root: tree.reseller, org_type: OrgType::Distributor };
    let scopes = [below, Scope::Subtree { root: tree.distributor, org_type: OrgType::Distributor }];
    compare_checked(&t, &scopes, "the promotion").await;
    let (listed, _) = by_status(&t.app.platform.db, &below, SortDirection::Desc, &None).await;
    assert_eq!(listed.len(), 2);
});

api_test!(a_list_of_a_status_sees_every_change_of_its_order, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let first = made(&t, &owner, tree.customer, "system b").await;
    t.advance(Duration::from_secs(1));
    let second = made(&t, &owner, tree.other_customer, "system c").await;
    let in_order = async |order: &str, expected: [&str; 2]| {
        for (page, name) in (1..).zip(expected) {
            let query = format!("?search=system&status=unknown&sort_by={order}&sort_direction=asc");
            let page = get(&t, &owner, &format!("{query}&page_size=1&page={page}")).await;
            assert_eq!(names(&page), [name], "{order}");
        }
    };
    in_order("updated_at", ["system b", "system c"]).await;
    t.advance(Duration::from_secs(1));
    register(&t, text(&first, "system_secret")).await.expect(200);
    in_order("updated_at", ["system c", "system b"]).await;
    t.advance(Duration::from_secs(1));
    let path = format!("/api/systems/{}/regenerate-secret", text(&second, "id"));
    t.post(&path).bearer(&owner.token).send().await.expect(200);
    in_order("updated_at", ["system b", "system c"]).await;
    put(&t, &owner, text(&second, "id"), json!({"name": "system a"})).await.expect(200);
    in_order("name", ["system a", "system b"]).await;
    in_order("organization_name", ["system b", "system a"]).await;
    let path = format!("/api/customers/{}", tree.customer);
    t.put(&path).bearer(&owner.token).json(json!({"name": "Zulu"})).send().await.expect(200);
    in_order("organization_name", ["system a", "system b"]).await;
});
