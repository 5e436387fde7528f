//! Laws that hold for every tree, catalogue and state, tried on generated ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail so")]

mod common;

use bailiwick_domain::{OrgType, UserId};
use bailiwick_policy::*;
use common::{LIVE, Node, user_id};
use proptest::{prelude::*, sample};

/// A tree of 2 to 24 organizations: each new one is placed below an earlier one that may be its parent.
fn trees() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec((any::<sample::Index>(), any::<sample::Index>()), 1..24).prop_map(|steps| {
        let mut nodes = vec![Node::owner()];
        for (n, (parent, level)) in steps.into_iter().enumerate() {
            let parents: Vec<&Node> = nodes.iter().filter(|n| n.org_type != OrgType::Customer).collect();
            let parent = parents[parent.index(parents.len())].clone();
            let lower: Vec<OrgType> =
                OrgType::ALL.into_iter().filter(|t| t.level() > parent.org_type.level()).collect();
            nodes.push(parent.child(n as u128 + 2, lower[level.index(lower.len())]));
        }
        nodes
    })
}

/// A user role as it would be written.
#[derive(Clone, Debug)]
struct Role {
    permissions: Vec<Permission>,
    actions: Vec<Verb>,
    read_only: bool,
    assignable_by: Option<OrgType>,
}

fn roles() -> impl Strategy<Value = Role> {
    let all: Vec<Permission> = Permission::all().collect();
    let lowest = prop_oneof![
        3 => Just(None),
        1 => sample::select(vec![OrgType::Owner, OrgType::Distributor, OrgType::Reseller]).prop_map(Some)
    ];
    (
        sample::subsequence(all, 0..=22),
        sample::subsequence(Verb::ALL.to_vec(), 0..=6),
        prop::bool::weighted(0.2),
        lowest,
    )
        .prop_map(|(permissions, actions, read_only, assignable_by)| Role {
            permissions,
            actions,
            read_only,
            assignable_by,
        })
}

fn words(permissions: &[Permission]) -> Vec<String> {
    permissions.iter().map(|p| p.as_str().to_owned()).collect()
}

/// A catalogue of the given user roles (keys `0`, `1`, …) with generated organization roles.
fn catalogue(org: &[Vec<Permission>], users: &[Role]) -> Catalogue {
    let organization_roles = OrgType::ALL
        .into_iter()
        .zip(org)
        .map(|(t, permissions)| OrgRoleDocument {
            key: t.as_str().to_owned(),
            name: t.role_name().to_owned(),
            description: String::new(),
            level: i64::from(t.level()),
            permissions: words(permissions),
        })
        .collect();
    let user_roles = users.iter().enumerate().map(|(key, role)| UserRoleDocument {
        key: key.to_string(),
        name: format!("Role {key}"),
        description: String::new(),
        permissions: words(&role.permissions),
        read_only: role.read_only,
        organization_actions: role.actions.iter().map(|v| v.as_str().to_owned()).collect(),
        assignable_by: role.assignable_by.map(|t| t.as_str().to_owned()),
    });
    Catalogue::build(&CatalogueDocument { organization_roles, user_roles: user_roles.collect() }).unwrap()
}

fn org_permissions() -> impl Strategy<Value = Vec<Vec<Permission>>> {
    let all: Vec<Permission> = Permission::all().collect();
    prop::collection::vec(sample::subsequence(all, 0..=22), 4)
}

fn keys(n: impl IntoIterator<Item = usize>) -> Vec<String> {
    n.into_iter().map(|k| k.to_string()).collect()
}

fn standings() -> impl Strategy<Value = Standing> {
    any::<[bool; 4]>().prop_map(|[s, d, ps, pd]| Standing::below(s, d, ps, pd))
}

/// A whole situation: a tree, a caller with role 0 (and 1), a target user with role 2, all states.
#[derive(Clone, Debug)]
struct World {
    tree: Vec<Node>,
    org: Vec<Vec<Permission>>,
    roles: Vec<Role>,
    caller: usize,
    target: usize,
    standing: Standing,
    consent: Consent,
}

fn worlds() -> impl Strategy<Value = World> {
    let consent = sample::select(vec![Consent::Absent, Consent::Everyone, Consent::Hierarchy]);
    (
        trees(),
        org_permissions(),
        prop::collection::vec(roles(), 3),
        any::<sample::Index>(),
        any::<sample::Index>(),
        prop_oneof![Just(LIVE), standings()],
        consent,
    )
        .prop_map(|(tree, org, roles, caller, target, standing, consent)| {
            let (caller, target) = (caller.index(tree.len()), target.index(tree.len()));
            World { tree, org, roles, caller, target, standing, consent }
        })
}

impl World {
    fn catalogue(&self) -> Catalogue {
        catalogue(&self.org, &self.roles)
    }

    fn effective(&self, catalogue: &Catalogue) -> Effective {
        catalogue.effective(self.home().org_type, &keys([0, 1]))
    }

    fn caller(&self, catalogue: &Catalogue) -> Caller {
        Caller::user(self.home().identity(1, self.effective(catalogue)), None)
    }

    fn key(&self, catalogue: &Catalogue, mode: KeyMode) -> Caller {
        Caller::ApiKey { identity: self.home().identity(1, self.effective(catalogue)), mode }
    }

    fn home(&self) -> &Node {
        &self.tree[self.caller]
    }

    fn there(&self) -> &Node {
        &self.tree[self.target]
    }

    fn user(&self, catalogue: &Catalogue) -> UserTarget {
        let effective = catalogue.effective(self.there().org_type, &keys([2]));
        UserTarget { consent: self.consent, ..self.there().user(2, effective, self.standing) }
    }

    /// Every question about the target, with whether it is allowed.
    fn answers(&self, caller: &Caller, user: &UserTarget) -> Vec<(String, bool)> {
        let node = self.there();
        let org_node = node.org_node(self.standing);
        let mut answers = Vec::new();
        for action in Action::all() {
            let mut note = |what: &str, allowed: bool| answers.push((format!("{what} {action:?}"), allowed));
            note("org", decide(caller, action, &node.target(self.standing)).is_allowed());
            note("user", decide(caller, action, user).is_allowed());
            note("system", decide(caller, action, &node.system(self.standing)).is_allowed());
            note("application", decide(caller, action, &node.application(self.standing)).is_allowed());
            let home = UserHome { requested_id: String::new(), node: Some(org_node) };
            note("user home", decide(caller, action, &home).is_allowed());
            note("system home", decide(caller, action, &SystemHome { node: Some(org_node) }).is_allowed());
            for family in OrgType::ALL {
                for parent in [Parent::Own, Parent::Named(Some(org_node))] {
                    let new = NewOrganization { family, parent };
                    note(&format!("new {family:?} {parent:?}"), decide(caller, action, &new).is_allowed());
                }
            }
        }
        answers
    }
}

fn assert_at_most(less: &[(String, bool)], more: &[(String, bool)]) -> Result<(), TestCaseError> {
    for (l, m) in less.iter().zip(more) {
        prop_assert_eq!(&l.0, &m.0);
        prop_assert!(!l.1 || m.1, "{} is allowed to the lesser one only", l.0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// No scope leaves the caller's subtree, and the hierarchy is exactly it.
    #[test]
    fn scopes_are_the_subtree(world in worlds()) {
        let catalogue = world.catalogue();
        let caller = world.caller(&catalogue);
        for node in &world.tree {
            let below = node.below(world.home().id());
            prop_assert_eq!(hierarchy(&caller).contains(&node.path), below);
            for permission in Permission::all() {
                let scope = scope_for(&caller, permission);
                prop_assert!(!scope.contains(&node.path) || (below && caller.holds(permission)));
            }
        }
        prop_assert!(world.tree.iter().all(|n| !Scope::own(&caller).contains(&n.path)));
    }

    /// Every allowed object lies in the subtree; impersonation is the one exception, by consent.
    #[test]
    fn nothing_is_allowed_outside_the_subtree(world in worlds()) {
        let catalogue = world.catalogue();
        let caller = world.caller(&catalogue);
        if world.there().below(world.home().id()) {
            return Ok(());
        }
        let by_consent = world.consent == Consent::Everyone;
        for (question, allowed) in world.answers(&caller, &world.user(&catalogue)) {
            let elsewhere = question.contains("Own") || question.starts_with("new Distributor");
            let exempt = elsewhere || (by_consent && question == "user Impersonate");
            prop_assert!(!allowed || exempt, "{}", question);
        }
        prop_assert!(in_hierarchy(&caller, Some(&world.there().org_node(LIVE))).is_err());
    }

    /// A list and a read by id agree, for all three kinds; the own organization is always readable by id.
    #[test]
    fn scope_and_read_agree(world in worlds()) {
        let catalogue = world.catalogue();
        let caller = world.caller(&catalogue);
        let node = world.there();
        let is_deleted = world.standing.deleted;
        let is_listed = |permission| scope_for(&caller, permission).contains(&node.path) && !is_deleted;
        let user = decide(&caller, Action::Read, &world.user(&catalogue));
        prop_assert_eq!(user.is_allowed(), is_listed(Permission::ReadUsers));
        let system = decide(&caller, Action::Read, &node.system(world.standing));
        prop_assert_eq!(system.is_allowed(), is_listed(Permission::ReadSystems));
        let Some(resource) = resource_of(node.org_type) else { return Ok(()) };
        let read = Permission::of(Verb::Read, resource).unwrap();
        let own = node.id() == world.home().id() && !world.standing.deleted;
        let org = decide(&caller, Action::Read, &node.target(world.standing));
        prop_assert_eq!(org.is_allowed(), is_listed(read) || own);
    }

    /// Fewer permissions never mean more answers.
    #[test]
    fn fewer_permissions_never_allow_more(
        world in worlds(),
        drop in any::<u64>(),
        drop_org in any::<u64>(),
        drop_verbs in any::<u8>(),
    ) {
        let catalogue = world.catalogue();
        let target = world.user(&catalogue);
        let mut less = world.clone();
        for role in &mut less.roles {
            role.permissions.retain(|p| drop & (1 << *p as u8) == 0);
            role.actions.retain(|v| drop_verbs & (1 << *v as u8) == 0);
        }
        less.org.iter_mut().for_each(|list| list.retain(|p| drop_org & (1 << *p as u8) == 0));
        let poorer = less.caller(&less.catalogue());
        let richer = world.caller(&catalogue);
        prop_assert!(poorer.permissions().is_subset(richer.permissions()));
        assert_at_most(&world.answers(&poorer, &target), &world.answers(&richer, &target))?;
        for permission in Permission::all() {
            let (a, b) = (scope_for(&poorer, permission), scope_for(&richer, permission));
            prop_assert!(a == Scope::Nothing || a == b);
        }
    }

    /// A key is never more than its owner, a read key never more than a write key, and a read key only reads.
    #[test]
    fn keys_are_masked(world in worlds()) {
        let catalogue = world.catalogue();
        let target = world.user(&catalogue);
        let owner = world.answers(&world.caller(&catalogue), &target);
        let write = world.answers(&world.key(&catalogue, KeyMode::Write), &target);
        let read = world.answers(&world.key(&catalogue, KeyMode::Read), &target);
        for (mode, verbs) in [(KeyMode::Read, &[Verb::Read][..]), (KeyMode::Write, &[Verb::Read, Verb::Manage])] {
            let masked = world.key(&catalogue, mode).permissions();
            let expected = |p: &Permission| world.caller(&catalogue).holds(*p) && verbs.contains(&p.verb());
            prop_assert!(Permission::all().all(|p| masked.contains(p) == expected(&p)));
        }
        assert_at_most(&write, &owner)?;
        assert_at_most(&read, &write)?;
        for (question, allowed) in read {
            prop_assert!(!allowed || question.ends_with("Read"), "{}", question);
        }
        for (question, allowed) in write {
            let interactive = ["Destroy", "SetPassword", "Impersonate"].iter().any(|a| question.ends_with(a));
            prop_assert!(!allowed || !interactive, "{}", question);
        }
    }

    /// While impersonating: never more than the target, and never more than the impersonator had at the start.
    #[test]
    fn impersonation_is_at_most_both(world in worlds()) {
        let catalogue = world.catalogue();
        let impersonator = world.caller(&catalogue);
        let victim = world.user(&catalogue);
        let Decision::Allowed(granted) = decide(&impersonator, Action::Impersonate, &victim) else {
            return Ok(());
        };
        let identity = world.there().identity(2, victim.effective.clone());
        let acting = Caller::User(UserCaller {
            identity: identity.clone(), chain: None, acting_for: impersonator.user_id(), signed_in_at: None,
        });
        prop_assert_eq!(granted.id(), user_id(2));
        prop_assert!(acting.permissions().is_subset(impersonator.permissions()));
        let other = UserTarget { id: user_id(3), ..world.user(&catalogue) };
        let plain = Caller::user(identity, None);
        assert_at_most(&world.answers(&acting, &other), &world.answers(&plain, &other))?;
        for own in [user_id(1), user_id(2)] {
            let me = UserTarget { id: own, ..world.user(&catalogue) };
            for action in Action::all().filter(|a| *a != Action::Read) {
                prop_assert!(!decide(&acting, action, &me).is_allowed());
            }
        }
    }

    /// One read-only role leaves nothing but `read:*` of the organization role.
    #[test]
    fn read_only_masks_the_organization_role(
        org in org_permissions(),
        mut users in prop::collection::vec(roles(), 1..5),
        which in any::<sample::Index>(),
        org_type in sample::select(OrgType::ALL.to_vec()),
    ) {
        let which = which.index(users.len());
        users[which].read_only = true;
        let catalogue = catalogue(&org, &users);
        let effective = catalogue.effective(org_type, &keys(0..users.len()));
        prop_assert!(effective.org_permissions().iter().all(|p| p.starts_with("read:")));
        let permissions: PermissionSet = users.iter().flat_map(|r| r.permissions.iter().copied()).collect();
        prop_assert!(effective.set().without(permissions).iter().all(|p| p.verb() == Verb::Read));
    }

    /// No caller can act on a user with more permissions or with a role the caller could not assign, nor create one.
    #[test]
    fn rank_holds(world in worlds()) {
        let catalogue = world.catalogue();
        let target = world.user(&catalogue);
        let restricted = world.roles[2].assignable_by;
        for caller in [world.caller(&catalogue), world.key(&catalogue, KeyMode::Write)] {
            let beyond = !target.effective.set().is_subset(caller.permissions())
                || restricted.is_some_and(|lowest| world.home().org_type.level() > lowest.level());
            for action in Action::all().filter(|a| *a != Action::Read) {
                prop_assert!(!(beyond && decide(&caller, action, &target).is_allowed()), "{:?}", action);
            }
            let granted = may_grant(&caller, &catalogue, &keys([2]), world.there().org_type);
            prop_assert_eq!(granted.is_err(), beyond);
            if let Err(Refusal::Ungrantable(gap)) = granted {
                prop_assert_eq!(gap.role_id.as_deref(), Some("2"));
                prop_assert!(gap.missing.intersect(caller.permissions()).is_empty());
            }
        }
    }

    /// Systems, jobs and anonymous callers have no user's rights by any way.
    #[test]
    fn others_have_no_user_rights(world in worlds()) {
        let catalogue = world.catalogue();
        let system = Caller::System(SystemCaller {
            id: common::system_id(1),
            system_key: "key".to_owned(),
            organization: world.home().identity(1, Effective::default()).organization.clone(),
        });
        for caller in [system, Caller::Anonymous] {
            prop_assert!(world.answers(&caller, &world.user(&catalogue)).iter().all(|(_, allowed)| !allowed));
            prop_assert_eq!(hierarchy(&caller), Scope::Nothing);
        }
        let nobody: Option<UserId> = Caller::Worker.user_id();
        prop_assert_eq!(nobody, None);
        prop_assert!(!decide(&Caller::Worker, Action::Impersonate, &world.user(&catalogue)).is_allowed());
    }
}
