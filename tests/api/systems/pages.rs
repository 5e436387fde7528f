//! Pages far behind, and the results of searches, equal those of one long statement over the rows.

use super::*;
use bailiwick_demo::{self as demo, Plan};
use bailiwick_domain::{OrgId, PageRequest, SortDirection, SystemStatus, Ts};
use bailiwick_policy::Scope;
use bailiwick_store::systems::{
    Known, Part, StatusFilter, SystemFilter, SystemOrder, is_lasting, landmarks, list, matches,
    stats::counted_totals,
};
use uuid::Uuid;

const LIVE: &str = "FROM systems s JOIN organizations o ON o.id = s.organization_id \
     WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL";

/// All pages of a list, one after the other, with the total of each: the same whatever was known before.
async fn all_pages(
    t: &Test,
    scope: &Scope,
    filter: &SystemFilter,
    order: (SystemOrder, SortDirection),
) -> (Vec<Uuid>, u64) {
    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
    let found = pages(t, scope, filter, order, Known::default()).await;
    let matches = match is_lasting(filter) {
        true => Some(matches(&t.app.db, scope, filter).await.unwrap()),
        false => None,
    };
    let totals = Some(counted_totals(&t.app.db, scope, cutoff).await.unwrap());
    let landmarks = landmarks(&t.app.db, scope, 4).await.unwrap();
    let (matches, landmarks) = (matches.as_ref(), Some(&landmarks));
    let known = Known { totals, matches, landmarks, ..Known::default() };
    assert!(found == pages(t, scope, filter, order, known).await, "{order:?} {filter:?}");
    found
}

async fn pages(
    t: &Test,
    scope: &Scope,
    filter: &SystemFilter,
    order: (SystemOrder, SortDirection),
    known: Known<'_>,
) -> (Vec<Uuid>, u64) {
    let (mut ids, mut page) = (Vec::new(), 1);
    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
    loop {
        let part = Part { order, page: PageRequest { page, page_size: 90 }, cutoff };
        let found = list(&t.app.db, scope, filter, part, known).await.unwrap();
        if found.rows.is_empty() {
            return (ids, found.total);
        }
        ids.extend(found.rows.into_iter().map(|row| row.system.id.0));
        page += 1;
    }
}

/// The word of a status as SQL.
fn status_word(cutoff: Ts) -> String {
    let heard = "(SELECT a.last_heartbeat FROM system_activity a WHERE a.system_id = s.id)";
    let micros = cutoff.0;
    let cutoff = format!("[[TIMESTAMPTZ 'epoch' + {micros} * INTERVAL '1 microsecond'||{micros}]]");
    format!(
        "CASE WHEN s.suspended_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL THEN 'suspended' \
         WHEN {heard} IS NULL THEN 'unknown' WHEN {heard} > {cutoff} THEN 'active' ELSE 'inactive' END"
    )
}

async fn ids(t: &Test, and: &str, order: &str) -> Vec<Uuid> {
    let rows: Vec<(Uuid,)> =
        Q::new(&format!("SELECT s.id {LIVE} {and} ORDER BY {order}")).all(&t.app.db).await.unwrap();
    rows.into_iter().map(|row| row.0).collect()
}

/// The organization with most systems that has this type.
async fn greatest(t: &Test, column: &str, org_type: &str) -> OrgId {
    let (id,): (Uuid,) = Q::new(&format!(
        "SELECT s.{column} {LIVE} AND EXISTS (SELECT 1 FROM organizations a WHERE a.id = s.{column} \
         AND a.type = '{org_type}') GROUP BY s.{column} ORDER BY COUNT(*) DESC LIMIT 1"
    ))
    .one(&t.app.db)
    .await
    .unwrap();
    OrgId(id)
}

api_test!(pages_far_behind_and_searches_are_those_of_the_rows, |t| async move {
    let plan = Plan { organizations: 60, systems: 1_000, users: None, applications: false, seed: 1 };
    demo::fill(&t.app, &plan, &mut |_| {}).await.unwrap();
    let reseller = greatest(&t, "p3", "reseller").await;
    let distributor =
        Scope::Subtree { root: greatest(&t, "p2", "distributor").await, org_type: OrgType::Distributor };
    // Some organizations of one name, more than are passed over at once.
    let mut same =
        Q::new("UPDATE organizations SET name_key = 'm' WHERE id IN (SELECT id FROM organizations ");
    same.push("WHERE type = 'customer' ORDER BY id LIMIT 20)");
    let mut tx = t.app.db.begin().await.unwrap();
    assert_eq!(same.run(&mut tx).await.unwrap(), 20);
    tx.commit().await.unwrap();
    let status = status_word(t.app.now().minus(t.app.settings.systems.liveness_timeout));
    let orders = [
        (SystemOrder::Name, "s.name_key"),
        (SystemOrder::Type, "s.type_key"),
        (SystemOrder::SystemKey, "s.system_key"),
        (SystemOrder::CreatedAt, "s.created_at"),
        (SystemOrder::OrganizationName, "o.name_key"),
        (SystemOrder::Status, &status),
    ];
    for round in ["as it is", "with a reseller deleted"] {
        let all = SystemFilter::default();
        for (order, column) in orders {
            for direction in [SortDirection::Asc, SortDirection::Desc] {
                let order = (order, direction);
                let word = direction.as_str();
                let expected = ids(&t, "", &format!("{column} {word}, s.id {word}")).await;
                assert!(expected.len() > 500);
                let total = expected.len() as u64;
                let found = all_pages(&t, &Scope::Everything, &all, order).await;
                // Without the ids, which would fill the screen.
                assert!(found == (expected, total), "{column} {word} {round}");
            }
        }
        // Pages so short that some begin behind the hundredth from either end.
        for direction in [SortDirection::Asc, SortDirection::Desc] {
            let word = direction.as_str();
            let expected = ids(&t, "", &format!("o.name_key {word}, s.id {word}")).await;
            let order = (SystemOrder::OrganizationName, direction);
            // Few landmarks, and none: then blocks of organizations are passed over from the last one, or from the beginning.
            let (few, none) = (
                landmarks(&t.app.db, &Scope::Everything, 30).await.unwrap(),
                landmarks(&t.app.db, &Scope::Everything, 1_000).await.unwrap(),
            );
            for (n, page) in (1..expected.len() as u64 / 2 + 2).step_by(7).enumerate() {
                let landmarks = [None, Some(&few), Some(&none)][n % 3];
                let (request, known) =
                    (PageRequest { page, page_size: 2 }, Known { landmarks, ..Known::default() });
                let part = Part { order, page: request, cutoff: t.app.now() };
                let found = list(&t.app.db, &Scope::Everything, &all, part, known).await.unwrap();
                let found: Vec<Uuid> = found.rows.into_iter().map(|row| row.system.id.0).collect();
                let offset = usize::try_from(request.offset()).unwrap();
                let wanted = expected.get(offset..).unwrap_or_default();
                assert_eq!(found, &wanted[..wanted.len().min(2)], "page {page} {word} {round}");
            }
        }
        for word in [SystemStatus::Active, SystemStatus::Suspended, SystemStatus::Unknown] {
            let statuses = Some(vec![StatusFilter::Is(word), StatusFilter::Is(word)]);
            let filter = SystemFilter { statuses, ..SystemFilter::default() };
            let expected = ids(&t, &format!("AND {status} = '{}'", word.as_str()), "s.name_key, s.id").await;
            assert!(!expected.is_empty(), "{word:?}");
            let total = expected.len() as u64;
            let found =
                all_pages(&t, &Scope::Everything, &filter, (SystemOrder::Name, SortDirection::Asc)).await;
            assert!(found == (expected, total), "{word:?} {round}");
        }
        // Some that many, some that few, and some that no system has.
        for text in ["srv", "ns8", "203.0.113.8", "milan", "nobody has this", "activ"] {
            let filter = SystemFilter { search: Some(text.to_owned()), ..SystemFilter::default() };
            for (scope, column) in [(&Scope::Everything, ""), (&distributor, "p2")] {
                let Scope::Subtree { root, .. } = distributor else { unreachable!() };
                let mut expected = Vec::new();
                let mut q = Q::new(&format!("SELECT s.id {LIVE}"));
                if !column.is_empty() {
                    q.push(" AND s.p2 = ?").arg(root);
                }
                q.push(" AND (s.search_key LIKE ?").arg(format!("%{text}%"));
                if text == "activ" {
                    let cutoff = t.app.now().minus(t.app.settings.systems.liveness_timeout);
                    // Both words contain it: whatever was ever heard of and is not suspended.
                    q.push(" OR (s.suspended_at IS NULL AND o.eff_suspended_at IS NULL AND EXISTS (SELECT 1 \
                        FROM system_activity a WHERE a.system_id = s.id AND (a.last_heartbeat <= ? OR a.last_heartbeat > ?)))");
                    q.arg(cutoff).arg(cutoff);
                }
                q.push(") ORDER BY s.name_key, s.id");
                let rows: Vec<(Uuid,)> = q.all(&t.app.db).await.unwrap();
                expected.extend(rows.into_iter().map(|row| row.0));
                let total = expected.len() as u64;
                let found = all_pages(&t, scope, &filter, (SystemOrder::Name, SortDirection::Asc)).await;
                assert!(found == (expected, total), "{text} {column} {round}");
            }
        }
        if round == "as it is" {
            t.delete_organization(reseller).await;
        }
    }
});

/// Compares a page far behind by organization with the same page found by passing over the rows before it, in both
/// directions. It is asked for until its landmarks are known.
async fn far_pages_are_fresh(t: &Test, owner: &Persona, after: &str) {
    for direction in [SortDirection::Asc, SortDirection::Desc] {
        let request = PageRequest { page: 60, page_size: 10 };
        let part =
            Part { order: (SystemOrder::OrganizationName, direction), page: request, cutoff: t.app.now() };
        let all = SystemFilter::default();
        let passed = list(&t.app.db, &Scope::Everything, &all, part, Known::default()).await.unwrap();
        let expected: Vec<_> = passed.rows.iter().map(|row| row.system.id.to_string()).collect();
        assert_eq!(expected.len(), 10);
        let query =
            format!("?sort_by=organization_name&sort_direction={}&page=60&page_size=10", direction.as_str());
        for _ in 0..12 {
            let reply = get(t, owner, &query).await.expect(200).data();
            let rows = reply["systems"].as_array().unwrap();
            let told: Vec<_> = rows.iter().map(|row| text(row, "id")).collect();
            assert_eq!(told, expected, "{} after {after}", direction.as_str());
        }
    }
}

api_test!(a_page_far_behind_by_organization_sees_every_change, |t| async move {
    let plan = Plan { organizations: 150, systems: 800, users: None, applications: false, seed: 7 };
    demo::fill(&t.app, &plan, &mut |_| {}).await.unwrap();
    let owner = t.owner().await;
    far_pages_are_fresh(&t, &owner, "nothing").await;
    let home = greatest(&t, "organization_id", "customer").await;
    let path = format!("/api/customers/{home}");
    t.system(home).await;
    far_pages_are_fresh(&t, &owner, "a new system").await;
    for name in ["Aaa first", "Zzz last"] {
        t.put(&path).bearer(&owner.token).json(json!({"name": name})).send().await.expect(200);
        far_pages_are_fresh(&t, &owner, name).await;
    }
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    far_pages_are_fresh(&t, &owner, "a deletion").await;
});

api_test!(every_order_finds_the_same_whatever_the_filter, |t| async move {
    let plan = Plan { organizations: 20, systems: 120, users: None, applications: false, seed: 3 };
    demo::fill(&t.app, &plan, &mut |_| {}).await.unwrap();
    let distributor =
        Scope::Subtree { root: greatest(&t, "p2", "distributor").await, org_type: OrgType::Distributor };
    let reseller = Scope::Subtree { root: greatest(&t, "p3", "reseller").await, org_type: OrgType::Reseller };
    let customer = Scope::Organization(greatest(&t, "organization_id", "customer").await);
    let statuses = |words: &[StatusFilter]| Some(words.to_vec());
    let is = |status| StatusFilter::Is(status);
    let none = SystemFilter::default;
    let filters = [
        SystemFilter { statuses: statuses(&[is(SystemStatus::Active)]), ..none() },
        SystemFilter {
            statuses: statuses(&[is(SystemStatus::Suspended), is(SystemStatus::Inactive)]),
            ..none()
        },
        SystemFilter { statuses: statuses(&[is(SystemStatus::Deleted), is(SystemStatus::Active)]), ..none() },
        SystemFilter { statuses: statuses(&[is(SystemStatus::Deleted)]), ..none() },
        SystemFilter {
            statuses: statuses(&[is(SystemStatus::Deleted)]),
            search: Some("e".to_owned()),
            ..none()
        },
        SystemFilter {
            statuses: statuses(&[is(SystemStatus::Deleted)]),
            name: Some("s".to_owned()),
            ..none()
        },
        SystemFilter {
            statuses: statuses(&[StatusFilter::NoInventory]),
            search: Some("n".to_owned()),
            ..none()
        },
        SystemFilter {
            statuses: statuses(&[is(SystemStatus::Active)]),
            name: Some("s".to_owned()),
            ..none()
        },
        SystemFilter { search: Some("activ".to_owned()), types: Some(vec!["ns8".to_owned()]), ..none() },
        SystemFilter { types: Some(vec!["nsec".to_owned()]), ..none() },
    ];
    for scope in [Scope::Everything, distributor, reseller, customer] {
        for filter in &filters {
            let mut first: Option<(BTreeSet<Uuid>, u64)> = None;
            for word in SystemOrder::WORDS.list() {
                for direction in [SortDirection::Asc, SortDirection::Desc] {
                    let order = SystemOrder::WORDS.parse(word).unwrap();
                    let (ids, total) = all_pages(&t, &scope, filter, (order, direction)).await;
                    let found: (BTreeSet<Uuid>, u64) = (ids.into_iter().collect(), total);
                    assert_eq!(found.0.len() as u64, total, "{word} {filter:?}");
                    assert!(*first.get_or_insert(found.clone()) == found, "{word} {filter:?}");
                }
            }
        }
    }
});
