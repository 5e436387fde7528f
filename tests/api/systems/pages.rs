//! Pages far behind, and the results of searches, equal those of one long statement over the rows.

use super::*;
use bailiwick_demo::{self as demo, Plan};
use bailiwick_domain::{OrgId, PageRequest, SortDirection, SystemStatus};
use bailiwick_policy::Scope;
use bailiwick_store::systems::{
    KnownCounts, OrderedPage, StatusFilter, SystemFilter, SystemOrder, list, stats::totals,
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
    let found = pages(t, scope, filter, order, KnownCounts::default()).await;
    let totals = Some(totals(&t.app.platform.db, scope).await.unwrap());
    let known = KnownCounts { totals, listed: Some(found.1) };
    assert!(found == pages(t, scope, filter, order, known).await, "{order:?} {filter:?}");
    found
}

async fn pages(
    t: &Test,
    scope: &Scope,
    filter: &SystemFilter,
    order: (SystemOrder, SortDirection),
    known: KnownCounts,
) -> (Vec<Uuid>, u64) {
    let (mut ids, mut page) = (Vec::new(), 1);
    loop {
        let part = OrderedPage { order, page: PageRequest { page, page_size: 90 } };
        let found = list(&t.app.platform.db, scope, filter, part, known).await.unwrap();
        if found.rows.is_empty() {
            return (ids, found.total);
        }
        ids.extend(found.rows.into_iter().map(|row| row.system.id.0));
        page += 1;
    }
}

/// The word of a status as SQL.
const STATUS: &str = "CASE WHEN s.suspended_at IS NOT NULL OR o.eff_suspended_at IS NOT NULL THEN 'suspended' \
     ELSE (SELECT CASE a.status WHEN 0 THEN 'unknown' WHEN 1 THEN 'active' ELSE 'inactive' END \
     FROM system_activity a WHERE a.system_id = s.id) END";

async fn ids(t: &Test, and: &str, order: &str) -> Vec<Uuid> {
    let rows: Vec<(Uuid,)> =
        Q::new(&format!("SELECT s.id {LIVE} {and} ORDER BY {order}")).all(&t.app.platform.db).await.unwrap();
    rows.into_iter().map(|row| row.0).collect()
}

/// The organization with most systems that has this type.
async fn greatest(t: &Test, column: &str, org_type: &str) -> OrgId {
    let (id,): (Uuid,) = Q::new(&format!(
        "SELECT s.{column} {LIVE} AND EXISTS (SELECT 1 FROM organizations a WHERE a.id = s.{column} \
         AND a.type = '{org_type}') GROUP BY s.{column} ORDER BY COUNT(*) DESC LIMIT 1"
    ))
    .one(&t.app.platform.db)
    .await
    .unwrap();
    OrgId(id)
}

api_test!(pages_far_behind_and_searches_are_those_of_the_rows, |t| async move {
    let plan = Plan { organizations: 60, systems: 1_400, users: None, applications: false, seed: 1 };
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    let reseller = greatest(&t, "p3", "reseller").await;
    let distributor =
        Scope::Subtree { root: greatest(&t, "p2", "distributor").await, org_type: OrgType::Distributor };
    // Some organizations of one name, more than are passed over at once.
    let mut same =
        Q::new("UPDATE organizations SET name_key = 'm' WHERE id IN (SELECT id FROM organizations ");
    same.push("WHERE type = 'customer' ORDER BY id LIMIT 20)");
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert_eq!(same.run(&mut tx).await.unwrap(), 20);
    tx.commit().await.unwrap();
    let orders = [
        (SystemOrder::Name, "s.name_key"),
        (SystemOrder::Type, "s.type_key"),
        (SystemOrder::SystemKey, "s.system_key"),
        (SystemOrder::CreatedAt, "s.created_at"),
        (SystemOrder::OrganizationName, "o.name_key"),
        (SystemOrder::Status, STATUS),
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
        for word in [SystemStatus::Active, SystemStatus::Suspended, SystemStatus::Unknown] {
            let statuses = Some(vec![StatusFilter::Is(word), StatusFilter::Is(word)]);
            let filter = SystemFilter { statuses, ..SystemFilter::default() };
            let expected = ids(&t, &format!("AND {STATUS} = '{}'", word.as_str()), "s.name_key, s.id").await;
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
                    // Both words contain it: every system with a heartbeat that is not suspended.
                    q.push(
                        " OR (s.suspended_at IS NULL AND o.eff_suspended_at IS NULL AND EXISTS (SELECT 1 \
                        FROM system_activity a WHERE a.system_id = s.id AND a.last_heartbeat IS NOT NULL))",
                    );
                }
                q.push(") ORDER BY s.name_key, s.id");
                let rows: Vec<(Uuid,)> = q.all(&t.app.platform.db).await.unwrap();
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

api_test!(every_order_finds_the_same_whatever_the_filter, |t| async move {
    let plan = Plan { organizations: 20, systems: 120, users: None, applications: false, seed: 3 };
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
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
