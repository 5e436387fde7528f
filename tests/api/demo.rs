//! The synthetic tree, and the promises about it.

mod life;
mod remove;

use bailiwick_demo::{self as demo, Credential, Plan, Progress, Stage, Summary};
use bailiwick_domain::{Error, PageRequest, SortDirection, SystemStatus};
use bailiwick_policy::Scope;
use bailiwick_store::{Db, organizations, sql::Q, systems};
use bailiwick_testkit::{Engine, Test, api_test};

const SMALL: Plan = Plan { organizations: 60, systems: 1_000, users: None, applications: true, seed: 1 };

async fn fill(t: &Test, plan: Plan) -> Summary {
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap()
}

async fn count(db: &Db, sql: &str) -> u64 {
    Q::new(sql).count(db).await.unwrap()
}

api_test!(counters_agree_with_rows, |t| async move {
    let summary = fill(&t, SMALL).await;
    let db = &t.app.platform.db;
    assert_eq!((summary.distributors, summary.resellers, summary.customers), (2, 6, 52));
    assert_eq!((summary.users, summary.systems), (90, 1_000));
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM systems").await, 1_000);
    let wrong = "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o \
         LEFT JOIN organization_counts n ON n.organization_id = o.id WHERE n.systems IS NULL \
         OR n.systems <> (SELECT COUNT(*) FROM systems s WHERE s.organization_id = o.id AND s.deleted_at IS NULL) \
         OR n.users <> (SELECT COUNT(*) FROM users u WHERE u.organization_id = o.id AND u.deleted_at IS NULL)";
    assert_eq!(count(db, wrong).await, 0);
    let totals = organizations::totals(db, &Scope::Everything).await.unwrap();
    let live = "SELECT CAST(COUNT(*) AS BIGINT) FROM systems s JOIN organizations o ON o.id = s.organization_id \
         WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL";
    assert_eq!(totals.systems, count(db, live).await);
});

api_test!(applications_are_on_clusters_and_counted, |t| async move {
    let summary = fill(&t, SMALL).await;
    let db = &t.app.platform.db;
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM applications").await, summary.applications);
    assert!((2_000..4_000).contains(&summary.applications), "{}", summary.applications);
    let misplaced = "SELECT CAST(COUNT(*) AS BIGINT) FROM applications a JOIN systems s ON s.id = a.system_id \
         WHERE s.type <> 'ns8' OR a.first_seen_at > (SELECT t.seen_at FROM application_hosts t \
         WHERE t.system_id = s.id)";
    assert_eq!(count(db, misplaced).await, 0);
    crate::applications::figures_are_true(&t).await;
});

api_test!(nobody_of_the_tree_can_sign_in_and_each_has_a_role, |t| async move {
    fill(&t, SMALL).await;
    let db = &t.app.platform.db;
    assert_eq!(
        count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM users WHERE password_hash IS NOT NULL").await,
        1
    );
    let (rows,): (i64,) =
        Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM users WHERE CAST(role_ids AS text) = '[]'")
            .one(db)
            .await
            .unwrap();
    assert_eq!(rows, 0);
});

api_test!(statuses_come_in_the_announced_shares, |t| async move {
    fill(&t, SMALL).await;
    let share = async |status: SystemStatus| {
        let filter = systems::SystemFilter {
            statuses: Some(vec![systems::StatusFilter::Is(status)]),
            ..systems::SystemFilter::default()
        };
        let part = systems::OrderedPage {
            order: (systems::SystemOrder::Name, SortDirection::Asc),
            page: PageRequest { page: 1, page_size: 1 },
        };
        let counts = systems::KnownCounts::default();
        systems::list(&t.app.platform.db, &Scope::Everything, &filter, part, counts).await.unwrap().total
    };
    let (active, inactive) = (share(SystemStatus::Active).await, share(SystemStatus::Inactive).await);
    let (unknown, suspended) = (share(SystemStatus::Unknown).await, share(SystemStatus::Suspended).await);
    assert!((700..900).contains(&active), "{active}");
    assert!((60..160).contains(&inactive), "{inactive}");
    assert!((20..90).contains(&unknown), "{unknown}");
    assert!((1..150).contains(&suspended), "{suspended}");
});

api_test!(the_returned_credentials_work, |t| async move {
    let summary = fill(&t, SMALL).await;
    assert_eq!(summary.examples.len(), 3);
    for example in summary.examples {
        let secret = example.system_secret.reveal();
        t.get("/systems/info").basic(&example.system_key, &secret).send().await.expect(200);
    }
});

api_test!(credentials_of_all_that_can_call_are_offered_and_a_refusal_leaves_nothing, |t| async move {
    let db = &t.app.platform.db;
    let mut left = 10;
    let mut refuse = |_: &Credential| {
        left -= 1;
        if left == 0 { Err(Error::internal("no space left")) } else { Ok(()) }
    };
    let refused = demo::fill_and_list(&t.app.fleet, &SMALL, &mut |_| {}, &mut refuse).await.unwrap_err();
    assert!(refused.to_string().contains("no space left"), "{refused}");
    assert_eq!(count(db, "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations").await, 1);
    let mut offered = Vec::new();
    let mut keep = |credential: &Credential| {
        offered.push(credential.clone());
        Ok(())
    };
    demo::fill_and_list(&t.app.fleet, &SMALL, &mut |_| {}, &mut keep).await.unwrap();
    let can_call = "SELECT CAST(COUNT(*) AS BIGINT) FROM systems s JOIN organizations o ON o.id = s.organization_id \
         WHERE s.suspended_at IS NULL AND s.deleted_at IS NULL AND o.eff_suspended_at IS NULL AND o.eff_deleted_at IS NULL";
    assert_eq!(offered.len() as u64, count(db, can_call).await);
    let registered = offered.iter().filter(|c| c.is_registered).count() as u64;
    assert_eq!(registered, count(db, &format!("{can_call} AND s.registered_at IS NOT NULL")).await);
    let owner = organizations::owner(db).await.unwrap();
    assert!(offered.iter().all(|c| c.line.first() == owner.as_ref() && c.line.len() <= 4));
});

api_test!(a_seed_can_be_used_once_and_others_beside_it, |t| async move {
    fill(&t, SMALL).await;
    let again = demo::fill(&t.app.fleet, &SMALL, &mut |_| {}).await.unwrap_err();
    assert!(matches!(again, Error::Conflict { .. }), "{again}");
    fill(&t, Plan { seed: 2, ..SMALL }).await;
    assert_eq!(count(&t.app.platform.db, "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations").await, 121);
});

api_test!(plans_out_of_bounds_are_refused, |t| async move {
    for plan in [
        Plan { organizations: 0, ..SMALL },
        Plan { organizations: 200_001, ..SMALL },
        Plan { systems: 20_000_001, ..SMALL },
        Plan { users: Some(1_000_000), ..SMALL },
    ] {
        let refused = demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap_err();
        assert!(matches!(refused, Error::BadRequest { .. }), "{plan:?}: {refused}");
    }
});

#[tokio::test]
async fn the_same_seed_gives_the_same_rows_on_both_engines() {
    let lite = Test::start(Engine::Sqlite, |_| {}).await;
    let pg = Test::start(Engine::Postgres, |_| {}).await;
    let (a, b) = (fill(&lite, SMALL).await, fill(&pg, SMALL).await);
    assert_eq!(a.great_distributor, b.great_distributor);
    let keys = async |t: &Test| {
        let sql = "SELECT s.system_key, o.name, s.secret_hash FROM systems s \
             JOIN organizations o ON o.id = s.organization_id ORDER BY s.system_key";
        Q::new(sql).all::<(String, String, String)>(&t.app.platform.db).await.unwrap()
    };
    assert_eq!(keys(&lite).await, keys(&pg).await);
}

/// So large that the indexes of systems are taken away meanwhile (on PostgreSQL `explain` does the same).
#[tokio::test]
async fn a_large_load_leaves_every_index() {
    let t = Test::start(Engine::Sqlite, |_| {}).await;
    let indexes = async || {
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL \
             AND tbl_name IN ('systems', 'applications', 'application_hosts') ORDER BY name";
        Q::new(sql).all::<(String,)>(&t.app.platform.db).await.unwrap()
    };
    let before = indexes().await;
    assert!(before.len() > 20);
    let mut rebuilt = 0;
    let plan = Plan { organizations: 100, systems: 20_000, users: Some(10), applications: true, seed: 3 };
    let mut note = |p: Progress| {
        if p.stage == Stage::Indexes {
            rebuilt = p.done;
        }
    };
    demo::fill(&t.app.fleet, &plan, &mut note).await.unwrap();
    // All but the tables themselves and the index that other tables refer to.
    assert_eq!((rebuilt as usize, indexes().await), (before.len() - 4, before));
}
