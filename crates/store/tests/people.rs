//! Organizations and users in the store, on SQLite: places, inherited marks, counters, lists.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::{
    AuditAction, OrgId, OrgType, PageRequest, SortDirection, Ts, UserId,
    org::{Creator, Details, Mark},
    validate::{self, Fields, email},
};
use bailiwick_policy::{
    Action, Caller, Granted, OrgNode, OrgTarget, Path, Scope, UserHome, UserTarget, decide,
};
use bailiwick_store::{
    Db, Options, StoreError, Tx, audit,
    organizations::{self, Counts, NewOrganization, Within, list::States},
    sql::Q,
    users::{self, Inserted, NewUser},
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use uuid::Uuid;

const OWNER: OrgId = OrgId(Uuid::from_u128(1));
const D: OrgId = OrgId(Uuid::from_u128(2));
const R: OrgId = OrgId(Uuid::from_u128(3));
const C: OrgId = OrgId(Uuid::from_u128(4));
const C_OF_D: OrgId = OrgId(Uuid::from_u128(5));
const R_OF_OWNER: OrgId = OrgId(Uuid::from_u128(6));

async fn open() -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("t.db").display());
    let db = Db::open(&Options::new(url)).await.unwrap();
    db.migrate().await.unwrap();
    (dir, db)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn organization(id: OrgId, org_type: OrgType, name: &str, vat: &str) -> NewOrganization {
    let mut fields = Fields::new();
    let data = object(json!({ "vat": vat, "city": "100%_sure" }));
    let (custom_data, vat) = validate::organization_custom_data(&mut fields, Map::new(), data);
    NewOrganization {
        id,
        org_type,
        details: Details::new(name, ""),
        vat: (org_type != OrgType::Owner).then_some(vat).flatten(),
        custom_data,
        created_by: Some(Creator {
            user_id: Some(UserId(Uuid::from_u128(99))),
            username: "root".to_owned(),
            name: "Root".to_owned(),
            email: "root@example.org".to_owned(),
            organization_id: Some(OWNER),
            organization_name: "old name".to_owned(),
            ..Creator::default()
        }),
        at: Ts(i64::try_from(id.0.as_u128()).unwrap()),
    }
}

/// The proof that the service itself may create below this organization.
async fn below(tx: &mut Tx, parent: OrgId) -> Granted<OrgId> {
    let node = organizations::node(&mut *tx, parent).await.unwrap();
    let home = UserHome { requested_id: parent.to_string(), node };
    decide(&Caller::Worker, Action::Create, &home).granted().unwrap()
}

async fn add(db: &Db, parent: OrgId, new: NewOrganization) -> Result<bool, StoreError> {
    let mut tx = db.begin().await?;
    let parent = below(&mut tx, parent).await;
    let done = organizations::insert(&mut tx, Some(&parent), &new).await?;
    tx.commit().await?;
    Ok(done)
}

async fn tree(db: &Db) {
    let mut tx = db.begin().await.unwrap();
    assert!(
        organizations::insert(&mut tx, None, &organization(OWNER, OrgType::Owner, "Owner", "0"))
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    for (parent, id, org_type, name) in [
        (OWNER, D, OrgType::Distributor, "Delta"),
        (D, R, OrgType::Reseller, "rho"),
        (R, C, OrgType::Customer, "Gamma"),
        (D, C_OF_D, OrgType::Customer, "Éta"),
        (OWNER, R_OF_OWNER, OrgType::Reseller, "Alone"),
    ] {
        let vat = format!("IT {id}");
        assert!(add(db, parent, organization(id, org_type, name, &vat)).await.unwrap());
    }
}

fn user(n: u128, username: &str) -> NewUser {
    NewUser {
        id: UserId(Uuid::from_u128(n)),
        username: username.to_owned(),
        email: email(&format!("{username}@Example.org")).unwrap(),
        email_verified: false,
        name: format!("Mr {username}"),
        phone: Some(format!("39{n}")),
        role_ids: vec!["admin".to_owned()],
        custom_data: None,
        password_hash: None,
        password_generated_at: None,
        created_by: None,
        at: Ts(5),
    }
}

async fn add_user(db: &Db, organization: OrgId, new: NewUser) -> Result<Inserted, StoreError> {
    let mut tx = db.begin().await?;
    let organization = below(&mut tx, organization).await;
    let done = users::insert(&mut tx, &organization, &new).await?;
    tx.commit().await?;
    Ok(done)
}

const PAGE: PageRequest = PageRequest { page: 1, page_size: 20 };

async fn ids(db: &Db, family: OrgType, scope: Scope, filter: organizations::Filter) -> Vec<OrgId> {
    let order = organizations::Order { by: organizations::Sort::Name, direction: SortDirection::Asc };
    let page = organizations::list(db, family, &scope, &filter, order, PAGE).await.unwrap();
    assert_eq!(page.total, page.rows.len() as u64);
    page.rows.iter().map(|o| o.id).collect()
}

#[tokio::test]
async fn places_follow_the_tree() {
    let (_dir, db) = open().await;
    tree(&db).await;
    for (id, p2, p3) in [
        (OWNER, OWNER, OWNER),
        (D, D, D),
        (R, D, R),
        (C, D, R),
        (C_OF_D, D, D),
        (R_OF_OWNER, OWNER, R_OF_OWNER),
    ] {
        let node = organizations::node(&db, id).await.unwrap().unwrap();
        assert_eq!(node.path, Path { id, p2, p3 });
    }
    assert_eq!(organizations::owner(&db).await.unwrap(), Some(OWNER));
    let delta = Scope::Subtree { root: D, org_type: OrgType::Distributor };
    let rho = Scope::Subtree { root: R, org_type: OrgType::Reseller };
    let all = organizations::Filter::default;
    assert_eq!(ids(&db, OrgType::Reseller, Scope::Everything, all()).await, [R_OF_OWNER, R]);
    assert_eq!(ids(&db, OrgType::Reseller, delta, all()).await, [R]);
    assert_eq!(ids(&db, OrgType::Customer, delta, all()).await, [C, C_OF_D]);
    assert_eq!(ids(&db, OrgType::Customer, rho, all()).await, [C]);
    assert_eq!(ids(&db, OrgType::Customer, Scope::Organization(C_OF_D), all()).await, [C_OF_D]);
    assert_eq!(ids(&db, OrgType::Customer, Scope::Nothing, all()).await, []);
}

#[tokio::test]
async fn a_new_organization_inherits_marks_and_none_grows_below_a_deleted_one() {
    let (_dir, db) = open().await;
    tree(&db).await;
    let mut tx = db.begin().await.unwrap();
    Q::new("UPDATE organizations SET eff_suspended_at = ?, eff_suspended_by = ? WHERE id = ?")
        .bind(Ts(70))
        .bind(D)
        .bind(R)
        .run(&mut tx)
        .await
        .unwrap();
    let parent = below(&mut tx, D).await;
    Q::new("UPDATE organizations SET deleted_at = ?, eff_deleted_at = ? WHERE id = ?")
        .bind(Ts(71))
        .bind(Ts(71))
        .bind(D)
        .run(&mut tx)
        .await
        .unwrap();
    let late = organization(OrgId(Uuid::from_u128(31)), OrgType::Customer, "Late", "31");
    assert!(!organizations::insert(&mut tx, Some(&parent), &late).await.unwrap());
    tx.commit().await.unwrap();
    let new = OrgId(Uuid::from_u128(30));
    assert!(add(&db, R, organization(new, OrgType::Customer, "New", "30")).await.unwrap());
    let read = organizations::get(&db, new).await.unwrap().unwrap();
    assert_eq!(read.suspended, Mark { at: Some(Ts(70)), by: Some(D) });
    assert!(!read.deleted.is_set());
    assert!(organizations::node(&db, new).await.unwrap().unwrap().standing.suspended_above);
}

#[tokio::test]
async fn creators_carry_the_present_name_of_their_organization() {
    let (_dir, db) = open().await;
    tree(&db).await;
    let read = organizations::get(&db, C).await.unwrap().unwrap();
    assert_eq!(read.created_by.unwrap().organization_name, "Owner");
    assert_eq!(read.vat.as_deref(), Some(format!("IT {C}").as_str()));
}

#[tokio::test]
async fn vat_is_unique_in_its_level_only() {
    let (_dir, db) = open().await;
    tree(&db).await;
    let fresh = |n| OrgId(Uuid::from_u128(n));
    let taken = format!(" it{R} ").to_uppercase();
    let error = add(&db, D, organization(fresh(40), OrgType::Reseller, "x", &taken)).await.unwrap_err();
    assert_eq!(error.unique_field().unwrap().key, "custom_data.vat");
    assert!(add(&db, OWNER, organization(fresh(41), OrgType::Distributor, "x", &taken)).await.unwrap());
    assert!(add(&db, D, organization(fresh(42), OrgType::Customer, "x", &taken)).await.unwrap());
    assert!(add(&db, D, organization(fresh(43), OrgType::Customer, "x", &taken)).await.unwrap());
}

#[tokio::test]
async fn filters_are_literal_and_never_widen() {
    let (_dir, db) = open().await;
    tree(&db).await;
    let search = |text: &str| organizations::Filter { search: text.to_owned(), ..Default::default() };
    let everything = Scope::Everything;
    assert_eq!(ids(&db, OrgType::Customer, everything, search("É")).await, [C_OF_D]);
    assert_eq!(ids(&db, OrgType::Customer, everything, search("100%_S")).await.len(), 2);
    assert_eq!(ids(&db, OrgType::Customer, everything, search("100%s")).await, []);
    assert_eq!(ids(&db, OrgType::Customer, everything, search("city")).await, []);
    assert_eq!(ids(&db, OrgType::Customer, everything, search("a\0")).await, []);
    let within = |w: Vec<Within>| organizations::Filter { within: Some(w), ..Default::default() };
    assert_eq!(ids(&db, OrgType::Customer, everything, within(vec![Within::Parent(D)])).await, [C_OF_D]);
    let below = Within::Below(D, OrgType::Distributor);
    assert_eq!(ids(&db, OrgType::Customer, everything, within(vec![below])).await, [C, C_OF_D]);
    assert_eq!(ids(&db, OrgType::Customer, everything, within(vec![])).await, []);
    let states = States { enabled: false, suspended: false, deleted: false };
    let none = organizations::Filter { states, ..Default::default() };
    assert_eq!(ids(&db, OrgType::Customer, everything, none).await, []);
    let created_by = organizations::Filter { created_by: Some(vec![OWNER.0]), ..Default::default() };
    assert_eq!(ids(&db, OrgType::Distributor, everything, created_by).await, [D]);
}

#[tokio::test]
async fn counts_come_from_counters() {
    let (_dir, db) = open().await;
    tree(&db).await;
    for (id, n) in [(D, 1_i64), (R, 2), (C, 4), (C_OF_D, 8)] {
        let mut tx = db.begin().await.unwrap();
        Q::new("UPDATE organization_counts SET systems = ? WHERE organization_id = ?")
            .bind(n)
            .bind(id)
            .run(&mut tx)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
    let one = |family, id| {
        let db = db.clone();
        async move { Counts::from(organizations::stats_of(&db, family, [id]).await.unwrap()[&id]) }
    };
    let d = one(OrgType::Distributor, D).await;
    assert_eq!(d, Counts { systems: 15, resellers: 1, customers: 2, applications: 0 });
    let r = one(OrgType::Reseller, R).await;
    assert_eq!(r, Counts { systems: 6, resellers: 0, customers: 1, applications: 0 });
    assert_eq!(one(OrgType::Customer, C_OF_D).await, Counts { systems: 8, ..Counts::default() });
    let rho = Scope::Subtree { root: R, org_type: OrgType::Reseller };
    assert_eq!(organizations::totals(&db, &rho).await.unwrap().systems, 6);
}

#[tokio::test]
async fn users_are_counted_and_their_values_unique() {
    let (_dir, db) = open().await;
    tree(&db).await;
    assert_eq!(add_user(&db, C, user(100, "anna")).await.unwrap(), Inserted::Done);
    assert_eq!(add_user(&db, D, user(101, "ANNA")).await.unwrap(), Inserted::UsernameTaken);
    let same_phone = NewUser { phone: Some("39100".to_owned()), ..user(102, "bea") };
    assert_eq!(add_user(&db, D, same_phone).await.unwrap(), Inserted::Done);
    assert_eq!(organizations::totals(&db, &Scope::Everything).await.unwrap().users, 2);
    let anna = email("anna@example.ORG").unwrap();
    let other = UserId(Uuid::from_u128(5));
    let taken = users::taken(&db, other, Some("Anna"), Some(&anna), Some("39100")).await.unwrap();
    assert!(taken.username && taken.email && taken.phone);
    let own = UserId(Uuid::from_u128(100));
    assert_eq!(
        users::taken(&db, own, Some("anna"), Some(&anna), None).await.unwrap(),
        users::Taken::default()
    );
    assert_eq!(users::taken_usernames(&db, &["Anna".to_owned(), "x".to_owned()]).await.unwrap(), ["anna"]);
}

#[tokio::test]
async fn a_moved_user_takes_his_place_and_his_count_along() {
    let (_dir, db) = open().await;
    tree(&db).await;
    add_user(&db, C, user(100, "anna")).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let placed = users::lock(&mut tx, UserId(Uuid::from_u128(100))).await.unwrap().unwrap();
    assert_eq!(placed.path, Path { id: C, p2: D, p3: R });
    let target = UserTarget {
        id: placed.user.id,
        path: placed.path,
        effective: Default::default(),
        standing: placed.standing,
        consent: Default::default(),
    };
    let granted = decide(&Caller::Worker, Action::Update, &target).granted().unwrap();
    let organization = below(&mut tx, R_OF_OWNER).await;
    assert_eq!(users::relocate(&mut tx, &granted, C, &organization).await.unwrap(), Inserted::Done);
    tx.commit().await.unwrap();
    let placed = users::get(&db, granted.id()).await.unwrap().unwrap();
    assert_eq!(placed.path, Path { id: R_OF_OWNER, p2: OWNER, p3: R_OF_OWNER });
    assert_eq!(placed.user.organization.name, "Alone");
    let delta = Scope::Subtree { root: D, org_type: OrgType::Distributor };
    assert_eq!(organizations::totals(&db, &delta).await.unwrap().users, 0);
    assert_eq!(organizations::totals(&db, &Scope::Organization(R_OF_OWNER)).await.unwrap().users, 1);
}

#[tokio::test]
async fn user_lists_filter_and_walk_without_loss() {
    let (_dir, db) = open().await;
    tree(&db).await;
    for n in 0..7u128 {
        let organization = if n % 2 == 0 { C } else { D };
        let role = if n < 3 { "reader" } else { "admin" };
        let new = NewUser { role_ids: vec![role.to_owned()], ..user(200 + n, &format!("u{n}")) };
        add_user(&db, organization, new).await.unwrap();
    }
    let default = users::Order::default();
    let mut seen = HashSet::new();
    for page in 1..=4 {
        let request = PageRequest { page, page_size: 2 };
        let found =
            users::list(&db, &Scope::Everything, &users::Filter::default(), default, request).await.unwrap();
        assert_eq!(found.total, 7);
        seen.extend(found.rows.iter().map(|p| p.user.id));
    }
    assert_eq!(seen.len(), 7);
    let count = |filter: users::Filter, scope: Scope| {
        let db = db.clone();
        async move { users::list(&db, &scope, &filter, default, PAGE).await.unwrap().total }
    };
    let some = users::Filter::default;
    let readers = users::Filter { roles: Some(vec!["reader".to_owned()]), ..some() };
    assert_eq!(count(readers, Scope::Everything).await, 3);
    let of_d = users::Filter { organizations: Some(vec![D]), ..some() };
    assert_eq!(count(of_d.clone(), Scope::Everything).await, 3);
    assert_eq!(count(of_d, Scope::Organization(C)).await, 0);
    let search = users::Filter { search: "MR U1".to_owned(), ..some() };
    assert_eq!(count(search, Scope::Everything).await, 1);
    let deleted = States { enabled: false, suspended: false, deleted: true };
    assert_eq!(count(users::Filter { states: deleted, ..some() }, Scope::Everything).await, 0);
    assert_eq!(count(some(), Scope::Organization(C)).await, 4);
}

#[tokio::test]
async fn a_put_replaces_and_the_audit_remembers() {
    let (_dir, db) = open().await;
    tree(&db).await;
    let mut tx = db.begin().await.unwrap();
    let node: OrgNode = organizations::node(&mut tx, C).await.unwrap().unwrap();
    let target = OrgTarget { family: OrgType::Customer, node };
    let granted = decide(&Caller::Worker, Action::Update, &target).granted().unwrap();
    let before = organizations::lock(&mut tx, C).await.unwrap().unwrap();
    let mut fields = Fields::new();
    let sent = object(json!({ "city": "Asti" }));
    let (custom_data, vat) =
        validate::organization_custom_data(&mut fields, before.custom_data.clone(), sent);
    let change = organizations::Change {
        details: Details { name: "Gamma Due".to_owned(), ..before.details.clone() },
        vat: vat.unwrap(),
        custom_data,
        at: Ts(900),
        by: Some(D),
    };
    organizations::update(&mut tx, &granted, &change).await.unwrap();
    let entry = audit::AuditRecord {
        at: Ts(900),
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: Some(D),
        action: AuditAction::OrganizationUpdate(OrgType::Customer),
        object_type: "customer",
        object_id: Some(C.0),
        before: Some(json!({ "name": before.details.name })),
        after: None,
        request_id: Some("r1"),
    };
    audit::record(&mut tx, entry).await.unwrap();
    tx.commit().await.unwrap();
    let read = organizations::get(&db, C).await.unwrap().unwrap();
    assert_eq!(
        (read.details.name.as_str(), read.updated_at, read.updated_by_org_id),
        ("Gamma Due", Ts(900), Some(D))
    );
    assert_eq!(read.custom_data["city"], "Asti");
    assert_eq!(read.created_at, Ts(4));
    let (action, before): (String, Value) =
        Q::new("SELECT action, before FROM audit_log").one(&db).await.unwrap();
    assert_eq!((action.as_str(), before), ("customer.update", json!({ "name": "Gamma" })));
}
