//! Tests of the catalogue and of the effective permissions.

use super::*;

fn effective(org_type: OrgType, roles: &[&str]) -> Effective {
    let ids: Vec<String> = roles.iter().map(|r| (*r).to_owned()).collect();
    Catalogue::built_in().effective(org_type, &ids)
}

#[test]
fn built_in_parses_and_round_trips() {
    let document: CatalogueDocument = serde_json::from_str(BUILT_IN_JSON).unwrap();
    assert_eq!(&Catalogue::build(&document).unwrap(), Catalogue::built_in());
    let keys: Vec<_> = Catalogue::built_in().user_roles().iter().map(|r| r.key.as_str()).collect();
    assert_eq!(keys, ["super", "admin", "backoffice", "support", "reader"]);
    assert_eq!(Catalogue::built_in().org_roles().len(), 4);
}

#[test]
fn owner_super_admin_has_everything_but_connect() {
    let e = effective(OrgType::Owner, &["super"]);
    assert_eq!(PermissionSet::ALL.without(e.set()).names(), ["connect:systems"]);
    assert_eq!(e.user_roles(), ["Super Admin"]);
    assert_eq!(
        e.user_permissions(),
        [
            "read:systems",
            "manage:systems",
            "destroy:systems",
            "read:users",
            "manage:users",
            "destroy:users",
            "impersonate:users",
            "read:applications",
            "manage:applications",
            "read:alerts",
            "manage:alerts",
            "config:alerts",
            "owner:role-access-control"
        ]
    );
    assert_eq!(e.restricted(), [("super".to_owned(), OrgType::Owner)]);
}

// Proves spec: authorization#guarantees 11.
#[test]
fn destroy_of_organizations_needs_the_role_that_keeps_it() {
    for role in ["admin", "backoffice", "support", "reader"] {
        assert!(!effective(OrgType::Owner, &[role]).set().contains(Permission::DestroyCustomers), "{role}");
    }
    assert!(!effective(OrgType::Distributor, &["super"]).set().contains(Permission::DestroyCustomers));
}

// Proves spec: authorization#guarantees 10.
#[test]
fn one_read_only_role_masks_all_others() {
    let e = effective(OrgType::Distributor, &["super", "reader", "admin", "super"]);
    assert_eq!(e.org_permissions(), ["read:resellers", "read:customers"]);
    assert_eq!(e.user_role_ids(), ["super", "reader", "admin"]);
    assert!(e.set().contains(Permission::DestroySystems), "user permissions are not masked");
}

#[test]
fn first_sight_order_without_repetition() {
    let e = effective(OrgType::Reseller, &["support", "backoffice"]);
    assert_eq!(
        e.user_permissions(),
        [
            "read:systems",
            "manage:systems",
            "read:applications",
            "read:users",
            "manage:users",
            "manage:applications"
        ]
    );
    assert_eq!(e.org_permissions(), ["read:customers", "manage:customers"]);
}

#[test]
fn no_role_and_unknown_roles_grant_nothing() {
    assert_eq!(effective(OrgType::Owner, &[]), Effective::default());
    assert_eq!(effective(OrgType::Owner, &["gone", "Super Admin"]), Effective::default());
    assert_eq!(effective(OrgType::Customer, &["gone", "support"]).user_role_ids(), ["support"]);
}

// Proves spec: authorization#guarantees 15.
#[test]
fn restricted_roles_are_assigned_from_their_level_up() {
    let catalogue = Catalogue::built_in();
    let assignable = |key, level| catalogue.user_role(key).is_some_and(|role| role.assignable_from(level));
    assert!(assignable("super", OrgType::Owner));
    assert!(!assignable("super", OrgType::Distributor));
    assert!(assignable("reader", OrgType::Customer));
    assert!(!assignable("gone", OrgType::Owner));
}

// Proves spec: guarantees#identity 3.
#[test]
fn all_errors_of_a_catalogue_are_listed_together() {
    let json = r#"{"organization_roles":[
        {"key":"owner","name":"Owner","level":1,"permissions":["read:planets","fly:customers","destroy:alerts","x"]},
        {"key":"owner","name":"owner","level":9},
        {"key":"reseller","name":"Reseller","level":2},
        {"key":"customer","name":"Customer","level":4}],
       "user_roles":[
        {"key":"a","name":"A","permissions":["owner:role-access-control"],"assignable_by":"customer"},
        {"key":"a","name":"a","organization_actions":["sing"]},
        {"key":" ","name":""}]}"#;
    let errors = Catalogue::parse(json).unwrap_err();
    for part in [
        "unknown resource",
        "unknown action",
        "no such action",
        "not of the form",
        "\"owner\": the key appears twice",
        "unknown level 9",
        "has the key \"distributor\"",
        "no organization role for level 3",
        "\"owner:role-access-control\": unknown action",
        "\"customer\" is none of owner",
        "unknown action \"sing\"",
        "\"a\": the key appears twice",
        "\"a\" appears twice",
        "blank",
    ] {
        assert!(errors.iter().any(|e| e.contains(part)), "{part:?} missing in {errors:#?}");
    }
    let none = Catalogue::parse(r#"{"organization_roles":[],"user_roles":[]}"#).unwrap_err();
    assert!(none.iter().any(|e| e == "no user role at all") && none.len() == 5, "{none:?}");
    assert_eq!(Catalogue::parse("{").unwrap_err().len(), 1);
    assert_eq!(
        Catalogue::parse(r#"{"organization_roles":[],"user_roles":[],"roles":[]}"#).unwrap_err().len(),
        1
    );
}
