//! Lists of some statuses and a search are those of the rows, whatever was found before.

use super::*;
use bailiwick_alerts::liveness_monitor;
use bailiwick_domain::{PageRequest, SortDirection, SystemId, SystemStatus, Ts};
use bailiwick_platform::answer_cache::{self, Key};
use bailiwick_policy::Scope;
use bailiwick_store::systems::{self, Known, Part, Ranked, StatusFilter, SystemFilter, SystemOrder};
use bailiwick_testkit::seed::Seeded;

/// Small pages, so that unsettled systems belong to several of them.
const SIZE: u64 = 3;
const ASKED: [(&[SystemStatus], &str); 6] = [
    (&[SystemStatus::Inactive], "created_at"),
    (&[SystemStatus::Active, SystemStatus::Unknown], "name"),
    (&[SystemStatus::Suspended, SystemStatus::Inactive], "organization_name"),
    (&[SystemStatus::Active], "status"),
    (&[SystemStatus::Unknown], "updated_at"),
    (&[SystemStatus::Suspended, SystemStatus::Active], "system_key"),
];

fn filter(statuses: &[SystemStatus]) -> SystemFilter {
    SystemFilter {
        search: Some("sys".into()),
        statuses: Some(statuses.iter().copied().map(StatusFilter::Is).collect()),
        ..SystemFilter::default()
    }
}

const DIRECTIONS: [SortDirection; 2] = [SortDirection::Asc, SortDirection::Desc];

fn order(word: &str) -> SystemOrder {
    SystemOrder::WORDS.parse(word).unwrap()
}

fn ids(page: bailiwick_domain::Page<systems::SystemRecord>) -> (Vec<SystemId>, u64) {
    (page.rows.into_iter().map(|record| record.system.id).collect(), page.total)
}

/// Compares the pages of one of the lists of a scope with those that are found among the rows.
pub async fn compare(t: &Test, scope: &Scope, n: usize, cutoff: Ts, what: &str) {
    // Other ones after each change.
    let n = n + what.bytes().map(usize::from).sum::<usize>();
    if n % 2 == 1 {
        return;
    }
    let n = n / 2;
    let (db, (statuses, word)) = (&t.app.db, ASKED[n % ASKED.len()]);
    let (filter, order, direction) = (filter(statuses), order(word), DIRECTIONS[n / ASKED.len() % 2]);
    if !systems::is_ranked(scope, &filter, order) {
        return;
    }
    let Some((_, unsettled)) = systems::unsettled(db, scope, &filter, cutoff).await.unwrap() else { return };
    let ranked = systems::ranked(db, scope, &filter, order, None).await.unwrap();
    assert_eq!(Ranked::from_bytes(&ranked.to_bytes()), ranked);
    let matches = systems::matches(db, scope, &filter).await.unwrap();
    let of_few = systems::ranked(db, scope, &filter, order, Some(&matches)).await.unwrap();
    assert_eq!(of_few, ranked, "{filter:?} {scope:?} after {what}");
    let Ranked::Ids(ranked) = ranked else { panic!("too many") };
    let number = systems::ranked_number(db, scope, &filter).await.unwrap();
    assert_eq!(number, ranked.len() as u64, "{filter:?} {scope:?} after {what}");
    let numbers = systems::unsettled_numbers(db, scope, &filter, cutoff).await.unwrap();
    for page in 1..=4 {
        let request = PageRequest { page, page_size: SIZE };
        let order = (order, direction);
        let part = Part { order, page: request, cutoff };
        let rows = systems::list(db, scope, &filter, part, Known::default());
        let found = systems::ranked_page(db, &ranked, unsettled.clone(), order, request).await.unwrap();
        if let Some((_, unsettled)) = numbers {
            assert_eq!(
                number - unsettled.counted + unsettled.shown,
                found.total,
                "{filter:?} {scope:?} after {what}"
            );
        }
        assert_eq!(
            ids(found),
            ids(rows.await.unwrap()),
            "{filter:?} {order:?} {scope:?} {page} after {what}"
        );
    }
}

/// Compares the service's answers with the rows; the service keeps the results that it has found before.
pub async fn is_told(t: &Test, owner: &Persona, what: &str) {
    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
    // Half of them after each change.
    let half = what.bytes().map(usize::from).sum::<usize>() % 2;
    for (n, (statuses, word)) in ASKED.into_iter().enumerate().skip(half).step_by(2) {
        let direction = DIRECTIONS[n % 2];
        let mut query =
            format!("?search=sys&page_size={SIZE}&sort_by={word}&sort_direction={}", direction.as_str());
        for status in statuses {
            query.push_str(&format!("&status={}", status.as_str()));
        }
        for page in 1..=2 {
            let reply = get(t, owner, &format!("{query}&page={page}")).await.expect(200).data();
            let rows = reply["systems"].as_array().unwrap();
            let told: Vec<SystemId> = rows.iter().map(|row| text(row, "id").parse().unwrap()).collect();
            let (filter, request) = (filter(statuses), PageRequest { page, page_size: SIZE });
            let part = Part { order: (order(word), direction), page: request, cutoff };
            let page = systems::list(&t.app.db, &Scope::Everything, &filter, part, Known::default());
            let (found, total) = ids(page.await.unwrap());
            assert_eq!(told, found, "{query} after {what}");
            assert_eq!(reply["pagination"]["total_count"], total, "{query} after {what}");
        }
    }
}

api_test!(a_list_of_a_status_sees_every_change_of_its_order, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let first = made(&t, &owner, tree.customer, "system b").await;
    t.advance(Duration::from_secs(1));
    let second = made(&t, &owner, tree.other_customer, "system c").await;
    liveness_monitor::check(&t.app).await.unwrap();
    let in_order = async |order: &str, expected: [&str; 2]| {
        // A page of its own for each: those of one page are sorted anyway.
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
    in_order("name", ["system b", "system c"]).await;
    put(&t, &owner, text(&second, "id"), json!({"name": "system a"})).await.expect(200);
    in_order("name", ["system a", "system b"]).await;
    in_order("organization_name", ["system b", "system a"]).await;
    let path = format!("/api/customers/{}", tree.customer);
    t.put(&path).bearer(&owner.token).json(json!({"name": "Zulu"})).send().await.expect(200);
    in_order("organization_name", ["system a", "system b"]).await;
});

api_test!(two_systems_that_change_places_are_listed_where_they_are, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await.id);
    let [one, other] = [t.system(tree.customer).await, t.system(tree.customer).await];
    let beat = async |s: &Seeded| {
        t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await.expect(200);
    };
    let inactive = async || -> Vec<SystemId> {
        let who = t.session(owner).await;
        let data = get(&t, &who, "?search=sys&status=inactive").await.expect(200).data();
        data["systems"].as_array().unwrap().iter().map(|row| text(row, "id").parse().unwrap()).collect()
    };
    let check = async |seconds: u64| {
        t.advance(Duration::from_secs(seconds));
        liveness_monitor::check(&t.app).await.unwrap();
    };
    beat(&other).await;
    check(1300).await;
    beat(&one).await;
    check(1).await;
    assert_eq!(inactive().await, [other.id]);
    // One is about to fall silent, the other is heard again: the next check counts both, and the numbers stay the same.
    check(1150).await;
    assert_eq!(inactive().await, [other.id]);
    t.advance(Duration::from_secs(90));
    beat(&other).await;
    check(0).await;
    assert_eq!(inactive().await, [one.id]);
});

api_test!(a_list_with_too_many_ids_to_cache_keeps_their_number, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let systems =
        [t.system(tree.customer).await, t.system(tree.customer).await, t.system(tree.customer).await];
    let beat = async |s: &Seeded| {
        t.post("/systems/heartbeat").basic(&s.key, &s.secret).send().await.expect(200);
    };
    beat(&systems[0]).await;
    liveness_monitor::check(&t.app).await.unwrap();
    let asked = filter(&[SystemStatus::Active]);
    let counted = async |word: &str| {
        // As if there were more than are cached.
        let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
        let found = systems::unsettled(&t.app.db, &Scope::Everything, &asked, cutoff).await.unwrap();
        let (epochs, _) = found.unwrap();
        let other = answer_cache::variant(&(&asked, order(word)));
        let key = Key { epochs, operation: "systems/ranked", scope: Scope::Everything, other };
        t.app.answers.put(key, Ranked::TooMany.to_bytes().into()).await;
        let mut totals = Vec::new();
        for rest in ["page_size=1", "page_size=1&page=2", "page_size=1&cursor="] {
            let query = format!("?search=sys&status=active&sort_by={word}&{rest}");
            let data = get(&t, &owner, &query).await.expect(200).data();
            totals.push(data["pagination"]["total_count"].as_u64().unwrap());
        }
        totals.dedup();
        assert_eq!(totals.len(), 1, "{totals:?}");
        totals[0]
    };
    assert_eq!(counted("name").await, 1);
    // A heartbeat moves no epoch, and counts.
    beat(&systems[1]).await;
    assert_eq!(counted("created_at").await, 2);
    // Nor does this, and so it shows that the list is not counted again.
    let mut tx = t.app.db.begin().await.unwrap();
    let lose = "UPDATE systems SET search_key = '' WHERE id = ?";
    Q::new(lose).bind(systems[0].id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(counted("name").await, 2);
    beat(&systems[2]).await;
    liveness_monitor::check(&t.app).await.unwrap();
    assert_eq!(counted("name").await, 2);
});
