//! Texts and data of the refusals: clients rely on them (spec: authorization#assigning-roles,
//! authorization#order-of-checks, authorization#object-rules; organizations#create).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail so")]

mod common;

use bailiwick_domain::{Error, ObjectKind, OrgType};
use bailiwick_policy::*;
use common::{DELETED, LIVE, Node, built_in, tree};
use serde_json::{Value, json};

fn caller(node: &Node, role: &str) -> Caller {
    Caller::user(node.identity(1, built_in(node.org_type, &[role])), None)
}

fn forbidden<T: std::fmt::Debug>(result: Result<T, impl Into<Error>>) -> (String, Value) {
    match result.unwrap_err().into() {
        Error::Forbidden { message, data } => (message.into_owned(), data),
        other => panic!("not a 403: {other:?}"),
    }
}

fn text<T: std::fmt::Debug>(result: Result<T, impl Into<Error>>) -> String {
    let (message, data) = forbidden(result);
    assert_eq!(data, Value::Null, "{message}");
    message
}

#[test]
fn gate_hidden_and_self() {
    let nodes = tree();
    let admin = caller(&nodes[1], "admin");
    assert_eq!(
        text(decide(&admin, Action::Destroy, &nodes[3].target(LIVE)).granted()),
        "insufficient permissions"
    );
    assert_eq!(
        text(decide(&admin, Action::Update, &nodes[1].user(1, Effective::default(), LIVE)).granted()),
        "cannot perform administrative actions on yourself"
    );
    // Foreign, deleted and of another type: one error.
    let other_type = OrgTarget { family: OrgType::Customer, ..nodes[3].target(LIVE) };
    for target in [nodes[11].target(LIVE), nodes[7].target(DELETED), other_type] {
        let error = decide(&admin, Action::Update, &target).granted().unwrap_err();
        assert!(matches!(error, Error::NotFound(ObjectKind::Customer)), "{error:?}");
    }
}

#[test]
fn own_organization_and_distributors() {
    let nodes = tree();
    let document = BUILT_IN_JSON.replacen(
        r#""permissions": ["read:resellers", "manage:resellers", "#,
        r#""permissions": ["read:distributors", "manage:distributors", "manage:resellers", "read:resellers", "#,
        1,
    );
    let open = Catalogue::parse(&document).unwrap();
    let identity = nodes[1].identity(1, open.effective(OrgType::Distributor, &["admin".to_owned()]));
    let distributor = Caller::user(identity, None);
    assert!(distributor.holds(Permission::ManageDistributors), "the catalogue opens the gate");
    let own = nodes[1].target(LIVE);
    assert_eq!(
        text(decide(&distributor, Action::Suspend, &own).granted()),
        "access denied to suspend distributor"
    );
    assert_eq!(
        text(decide(&distributor, Action::Update, &own).granted()),
        "access denied: only owners can update distributors"
    );
    assert_eq!(
        text(list_scope(&distributor, Resource::Distributors)),
        "access denied: only owners can list distributors"
    );
    let new = NewOrganization { family: OrgType::Distributor, parent: Parent::Own };
    assert_eq!(
        text(decide(&distributor, Action::Create, &new).granted()),
        "access denied: only owners can create distributors"
    );
    assert_eq!(
        text(decide(&caller(&nodes[1], "reader"), Action::Promote, &nodes[3].target(LIVE)).granted()),
        "access denied to promote reseller"
    );
}

#[test]
fn from_above() {
    let nodes = tree();
    let owner = caller(&nodes[0], "super");
    let suspended = Standing::below(true, false, true, false);
    let deleted = Standing::below(false, true, false, true);
    let cases = [
        (
            decide(&owner, Action::Reactivate, &nodes[7].target(suspended)).granted().map(|_| ()),
            "customer is suspended by a parent organization and cannot be reactivated directly",
        ),
        (
            decide(&owner, Action::Restore, &nodes[3].target(deleted)).granted().map(|_| ()),
            "reseller is deleted by a parent organization and cannot be restored directly",
        ),
        (
            decide(&owner, Action::Reactivate, &nodes[7].system(suspended)).granted().map(|_| ()),
            "system is suspended by a parent organization and cannot be reactivated directly",
        ),
        (
            decide(&owner, Action::Restore, &nodes[7].system(deleted)).granted().map(|_| ()),
            "system is deleted by a parent organization and cannot be restored directly",
        ),
        (
            decide(&owner, Action::Reactivate, &nodes[7].user(2, Effective::default(), suspended))
                .granted()
                .map(|_| ()),
            "user was suspended by organization cascade, the organization must be reactivated first",
        ),
    ];
    for (result, expected) in cases {
        assert_eq!(text(result), expected);
    }
    let user = nodes[7].user(2, Effective::default(), deleted);
    let error = decide(&owner, Action::Restore, &user).granted().unwrap_err();
    assert!(
        matches!(&error, Error::BadRequest { message, .. }
            if message == "user's organization is deleted and must be restored first"),
        "{error:?}"
    );
    // The object's own mark alone is not decided from above.
    let own_mark = Standing::below(true, false, false, false);
    assert!(decide(&owner, Action::Reactivate, &nodes[7].target(own_mark)).is_allowed());
}

#[test]
fn homes_of_users_and_systems() {
    let nodes = tree();
    let home =
        |node: Option<&Node>| UserHome { requested_id: "x".to_owned(), node: node.map(|n| n.org_node(LIVE)) };
    let cases = [
        (1, Action::Create, "access denied: distributors can only create users in organizations they manage"),
        (
            3,
            Action::Update,
            "access denied: resellers can only update users in their own organization or customers they manage",
        ),
        (7, Action::Create, "access denied: customers can only create users in their own organization"),
    ];
    for (index, action, expected) in cases {
        let caller = caller(&nodes[index], "admin");
        for node in [None, Some(&nodes[2])] {
            assert_eq!(text(decide(&caller, action, &home(node)).granted()), expected);
        }
        for node in [None, Some(nodes[2].org_node(LIVE))] {
            let expected = "access denied: organization not in your hierarchy";
            assert_eq!(text(decide(&caller, Action::Create, &SystemHome { node }).granted()), expected);
            assert_eq!(text(in_hierarchy(&caller, node.as_ref())), expected);
        }
    }
    match decide(&caller(&nodes[0], "admin"), Action::Create, &home(None)).granted() {
        Err(Error::Invalid(fields)) => {
            let f = &fields[0];
            assert_eq!((&*f.key, &*f.message, &*f.value), ("organization_id", "organization not found", "x"));
        }
        other => panic!("{other:?}"),
    }
    assert!(outside_owner_organization(Action::Create, OrgType::Owner).is_err());
    assert!(outside_owner_organization(Action::Update, OrgType::Distributor).is_ok());
}

#[test]
fn attribution() {
    let nodes = tree();
    let owner = caller(&nodes[0], "admin");
    let distributor = caller(&nodes[1], "admin");
    let reseller = caller(&nodes[3], "admin");
    let ask = |caller: &Caller, family, parent: Option<&Node>| {
        let parent = Parent::Named(parent.map(|n| n.org_node(LIVE)));
        decide(caller, Action::Create, &NewOrganization { family, parent }).granted().map(|g| g.id())
    };
    use OrgType::{Customer, Distributor, Reseller};
    assert_eq!(ask(&owner, Reseller, Some(&nodes[1])).unwrap(), nodes[1].id());
    assert_eq!(ask(&distributor, Customer, Some(&nodes[3])).unwrap(), nodes[3].id());
    assert_eq!(ask(&distributor, Reseller, Some(&nodes[1])).unwrap(), nodes[1].id());
    assert_eq!(
        ask(&reseller, Customer, Some(&nodes[3])).unwrap(),
        nodes[3].id(),
        "the own one is as if absent"
    );
    assert_eq!(ask(&owner, Distributor, None).unwrap(), nodes[0].id(), "ignored for distributors");
    let level = "access denied: only owner or distributor can set created_by_organization_id";
    assert_eq!(text(ask(&reseller, Customer, None)), level);
    let scope = "access denied: created_by_organization_id is not within your hierarchy";
    assert_eq!(text(ask(&distributor, Customer, None)), scope);
    assert_eq!(text(ask(&distributor, Customer, Some(&nodes[2]))), scope);
    assert_eq!(
        text(ask(&owner, Reseller, Some(&nodes[3]))),
        "access denied: a reseller can only be attributed to a distributor"
    );
    let kind = "access denied: created_by_organization_id must be a reseller or distributor";
    assert_eq!(text(ask(&owner, Customer, Some(&nodes[7]))), kind);
    assert_eq!(text(attribute_system(&owner, Some(&nodes[7].org_node(LIVE)))), kind);
    assert_eq!(text(attribute_system(&reseller, Some(&nodes[3].org_node(LIVE)))), level);
    assert_eq!(text(attribute_system(&distributor, None)), scope);
    assert!(attribute_system(&distributor, Some(&nodes[3].org_node(LIVE))).is_ok());
    assert_eq!(
        text(attributing(&reseller, "registered_at")),
        "access denied: only owner or distributor can set registered_at"
    );
}

#[test]
fn rank_data() {
    let nodes = tree();
    let backoffice = caller(&nodes[1], "backoffice");
    let admin = nodes[3].user(2, built_in(OrgType::Reseller, &["admin"]), LIVE);
    let missing = json!(["manage:systems", "read:alerts", "manage:alerts"]);
    assert_eq!(
        forbidden(decide(&backoffice, Action::Delete, &admin).granted()),
        (
            "insufficient privileges to manage this user".to_owned(),
            json!({"role_id": null, "required_org_role": null, "current_org_role": "distributor",
                   "missing_permissions": missing})
        )
    );
    let roles = ["reader".to_owned(), "admin".to_owned()];
    assert_eq!(
        forbidden(may_grant(&backoffice, Catalogue::built_in(), &roles, OrgType::Reseller)),
        (
            "insufficient privileges to assign this role".to_owned(),
            json!({"role_id": "admin", "required_org_role": null, "current_org_role": "distributor",
                   "missing_permissions": missing})
        )
    );
    let superior = caller(&nodes[1], "super");
    let (message, data) =
        forbidden(may_grant(&superior, Catalogue::built_in(), &["super".to_owned()], OrgType::Distributor));
    assert_eq!(message, "insufficient privileges to assign this role");
    assert_eq!(
        data,
        json!({"role_id": "super", "required_org_role": "owner", "current_org_role": "distributor",
               "missing_permissions": []})
    );
    // The level of the destination counts: the same role grants more at a higher level.
    let reseller = caller(&nodes[3], "admin");
    assert!(may_grant(&reseller, Catalogue::built_in(), &["admin".to_owned()], OrgType::Customer).is_ok());
    assert!(
        may_grant(&reseller, Catalogue::built_in(), &["admin".to_owned()], OrgType::Distributor).is_err()
    );
}

#[test]
fn role_ids_in_requests() {
    let fields = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|i| (*i).to_owned()).collect();
        match known_roles(Catalogue::built_in(), &ids) {
            Ok(()) => Vec::new(),
            Err(Error::Invalid(fields)) => fields.into_iter().map(|f| (f.key, f.message, f.value)).collect(),
            Err(other) => panic!("{other:?}"),
        }
    };
    let key = || "user_role_ids".to_owned();
    assert_eq!(fields(&[]), [(key(), "at least one role is required".to_owned(), String::new())]);
    assert_eq!(fields(&["admin", "gone"]), [(key(), "role not found".to_owned(), "gone".to_owned())]);
    assert!(fields(&["super", "reader"]).is_empty());
}

#[test]
fn impersonation_order() {
    let nodes = tree();
    let boss = caller(&nodes[1], "super");
    let target = |consent| UserTarget {
        consent,
        ..nodes[2].user(2, built_in(OrgType::Distributor, &["admin"]), LIVE)
    };
    let ask = |caller: &Caller, target: &UserTarget| decide(caller, Action::Impersonate, target).granted();
    assert!(ask(&boss, &target(Consent::Everyone)).is_ok(), "consent replaces the tree");
    let refused = "target user has not provided consent for impersonation or consent has expired";
    assert_eq!(text(ask(&boss, &target(Consent::Absent))), refused);
    assert_eq!(text(ask(&boss, &target(Consent::Hierarchy))), refused);
    assert_eq!(text(ask(&boss, &UserTarget { standing: DELETED, ..target(Consent::Everyone) })), refused);
    let outranking =
        UserTarget { effective: built_in(OrgType::Distributor, &["super"]), ..target(Consent::Everyone) };
    assert_eq!(forbidden(ask(&boss, &outranking)).0, "insufficient privileges to manage this user");
    let hidden = UserTarget { consent: Consent::Absent, ..outranking };
    assert_eq!(text(ask(&boss, &hidden)), refused, "rank is not told without consent");
    let identity = nodes[1].identity(1, built_in(OrgType::Distributor, &["super"]));
    let acting = Caller::User(UserCaller {
        identity,
        chain: None,
        acting_for: Some(common::user_id(9)),
        signed_in_at: None,
    });
    assert!(text(ask(&acting, &target(Consent::Everyone))).starts_with("cannot impersonate while already"));
    let me = UserTarget { id: common::user_id(1), ..target(Consent::Everyone) };
    assert!(
        matches!(ask(&boss, &me), Err(Error::BadRequest { message, .. }) if message == "cannot impersonate yourself")
    );
}

#[test]
fn either_of_two_permissions_is_enough_to_silence() {
    let nodes = tree();
    let (distributor, system) = (&nodes[1], nodes[7].system(LIVE));
    let holder = |permissions: &[&str]| {
        let organization_roles = ["Owner", "Distributor", "Reseller", "Customer"].iter().enumerate().map(|(n, name)| {
            json!({"key": name.to_lowercase(), "name": name, "description": "", "level": n + 1, "permissions": []})
        });
        let user_role = json!({"key": "r", "name": "R", "description": "", "permissions": permissions, "read_only": false,
            "organization_actions": [], "assignable_by": null});
        let document =
            json!({"organization_roles": organization_roles.collect::<Vec<_>>(), "user_roles": [user_role]});
        let catalogue = Catalogue::build(&serde_json::from_value(document).unwrap()).unwrap();
        distributor.identity(1, catalogue.effective(distributor.org_type, &["r".to_owned()]))
    };
    for (permissions, may) in [
        (&["manage:systems"][..], true),
        (&["manage:alerts"], true),
        (&["read:systems", "read:alerts", "config:alerts", "manage:users"], false),
    ] {
        let decision = decide(&Caller::user(holder(permissions), None), Action::Silence, &system);
        assert_eq!(decision.is_allowed(), may, "{permissions:?}");
        if !may {
            assert_eq!(text(decision.granted()), "insufficient permissions");
        }
    }
    let key = |mode| Caller::ApiKey { identity: holder(&["manage:alerts"]), mode };
    assert!(decide(&key(KeyMode::Write), Action::Silence, &system).is_allowed());
    assert!(!decide(&key(KeyMode::Read), Action::Silence, &system).is_allowed());
    let alerts_only = Caller::user(holder(&["manage:alerts"]), None);
    assert!(!decide(&alerts_only, Action::Update, &system).is_allowed(), "nothing else of a system");
}
