//! The closed vocabulary of permissions (spec: authorization#permissions) and sets of them.

use std::fmt;

/// The first word of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// See.
    Read,
    /// Create and change.
    Manage,
    /// Remove permanently; never without `Manage` of the same resource.
    Destroy,
    /// Copied to tokens for clients; no operation requires it.
    Connect,
    /// Act as another user who consented.
    Impersonate,
    /// See the effective alerting configuration.
    Config,
}

impl Verb {
    pub const ALL: [Verb; 6] =
        [Verb::Read, Verb::Manage, Verb::Destroy, Verb::Connect, Verb::Impersonate, Verb::Config];

    /// The word of the wire and of the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Manage => "manage",
            Verb::Destroy => "destroy",
            Verb::Connect => "connect",
            Verb::Impersonate => "impersonate",
            Verb::Config => "config",
        }
    }

    /// From the exact word.
    pub fn parse(word: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|v| v.as_str() == word)
    }
}

/// The second word of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Organizations of level 2.
    Distributors,
    /// Organizations of level 3.
    Resellers,
    /// Organizations of level 4.
    Customers,
    /// Systems, their inventory, alert data, silences and backups.
    Systems,
    Users,
    Applications,
    /// Alerting configuration only.
    Alerts,
}

impl Resource {
    pub const ALL: [Resource; 7] = [
        Resource::Distributors,
        Resource::Resellers,
        Resource::Customers,
        Resource::Systems,
        Resource::Users,
        Resource::Applications,
        Resource::Alerts,
    ];

    /// The word of the wire and of the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Resource::Distributors => "distributors",
            Resource::Resellers => "resellers",
            Resource::Customers => "customers",
            Resource::Systems => "systems",
            Resource::Users => "users",
            Resource::Applications => "applications",
            Resource::Alerts => "alerts",
        }
    }

    /// From the exact word.
    pub fn parse(word: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|r| r.as_str() == word)
    }
}

/// One capability. The markers `<level>:role-access-control` are none of these (spec: authorization#permissions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Permission {
    ReadDistributors,
    ManageDistributors,
    DestroyDistributors,
    ReadResellers,
    ManageResellers,
    DestroyResellers,
    ReadCustomers,
    ManageCustomers,
    DestroyCustomers,
    ReadSystems,
    ManageSystems,
    DestroySystems,
    ConnectSystems,
    ReadUsers,
    ManageUsers,
    DestroyUsers,
    ImpersonateUsers,
    ReadApplications,
    ManageApplications,
    ReadAlerts,
    ManageAlerts,
    ConfigAlerts,
}

use Permission as P;
use Resource as R;
use Verb as V;

/// Permission, wire string, verb, resource; in the order of the enum, which is also the order of the bits.
pub const TABLE: [(Permission, &str, Verb, Resource); 22] = [
    (P::ReadDistributors, "read:distributors", V::Read, R::Distributors),
    (P::ManageDistributors, "manage:distributors", V::Manage, R::Distributors),
    (P::DestroyDistributors, "destroy:distributors", V::Destroy, R::Distributors),
    (P::ReadResellers, "read:resellers", V::Read, R::Resellers),
    (P::ManageResellers, "manage:resellers", V::Manage, R::Resellers),
    (P::DestroyResellers, "destroy:resellers", V::Destroy, R::Resellers),
    (P::ReadCustomers, "read:customers", V::Read, R::Customers),
    (P::ManageCustomers, "manage:customers", V::Manage, R::Customers),
    (P::DestroyCustomers, "destroy:customers", V::Destroy, R::Customers),
    (P::ReadSystems, "read:systems", V::Read, R::Systems),
    (P::ManageSystems, "manage:systems", V::Manage, R::Systems),
    (P::DestroySystems, "destroy:systems", V::Destroy, R::Systems),
    (P::ConnectSystems, "connect:systems", V::Connect, R::Systems),
    (P::ReadUsers, "read:users", V::Read, R::Users),
    (P::ManageUsers, "manage:users", V::Manage, R::Users),
    (P::DestroyUsers, "destroy:users", V::Destroy, R::Users),
    (P::ImpersonateUsers, "impersonate:users", V::Impersonate, R::Users),
    (P::ReadApplications, "read:applications", V::Read, R::Applications),
    (P::ManageApplications, "manage:applications", V::Manage, R::Applications),
    (P::ReadAlerts, "read:alerts", V::Read, R::Alerts),
    (P::ManageAlerts, "manage:alerts", V::Manage, R::Alerts),
    (P::ConfigAlerts, "config:alerts", V::Config, R::Alerts),
];

impl Permission {
    /// All permissions in table order.
    pub fn all() -> impl Iterator<Item = Permission> {
        TABLE.iter().map(|row| row.0)
    }

    /// `{action}:{resource}`.
    pub const fn as_str(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Its action word.
    pub const fn verb(self) -> Verb {
        TABLE[self as usize].2
    }

    pub const fn resource(self) -> Resource {
        TABLE[self as usize].3
    }

    /// From the exact wire string.
    pub fn parse(name: &str) -> Option<Permission> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The permission of an action on a resource, if the vocabulary has it.
    pub fn of(verb: Verb, resource: Resource) -> Option<Permission> {
        TABLE.iter().find(|row| row.2 == verb && row.3 == resource).map(|row| row.0)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of permissions, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PermissionSet(u64);

impl PermissionSet {
    /// No permission.
    pub const EMPTY: PermissionSet = PermissionSet(0);
    /// Every permission.
    pub const ALL: PermissionSet = PermissionSet((1 << TABLE.len()) - 1);

    /// Adds one.
    pub const fn insert(&mut self, permission: Permission) {
        self.0 |= 1 << permission as u8;
    }

    /// Exact membership: the only test a gate makes.
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u8) != 0
    }

    /// In either.
    #[must_use]
    pub const fn union(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 | other.0)
    }

    /// In both.
    #[must_use]
    pub const fn intersect(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 & other.0)
    }

    /// The permissions in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: PermissionSet) -> PermissionSet {
        PermissionSet(self.0 & !other.0)
    }

    /// Whether the other one has all of these.
    pub const fn is_subset(self, other: PermissionSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// In table order.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::all().filter(move |p| self.contains(*p))
    }

    /// Wire strings in table order.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Permission::as_str).collect()
    }

    /// Only those with one of these verbs.
    #[must_use]
    pub fn keep(self, verbs: &[Verb]) -> PermissionSet {
        self.iter().filter(|p| verbs.contains(&p.verb())).collect()
    }
}

impl FromIterator<Permission> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> PermissionSet {
        let mut set = PermissionSet::EMPTY;
        permissions.into_iter().for_each(|p| set.insert(p));
        set
    }
}

impl fmt::Debug for PermissionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_follows_the_enum_and_its_words() {
        for (index, (permission, name, verb, resource)) in TABLE.into_iter().enumerate() {
            assert_eq!(permission as usize, index);
            assert_eq!(name, format!("{}:{}", verb.as_str(), resource.as_str()));
            assert_eq!(Permission::parse(name), Some(permission));
            assert_eq!(Permission::of(verb, resource), Some(permission));
        }
        assert_eq!(Permission::parse("owner:role-access-control"), None);
        assert_eq!(Permission::of(Verb::Destroy, Resource::Applications), None);
    }

    #[test]
    fn set_operations() {
        let a: PermissionSet = [P::ReadUsers, P::ManageUsers].into_iter().collect();
        let b: PermissionSet = [P::ReadUsers, P::ConfigAlerts].into_iter().collect();
        assert_eq!(a.intersect(b).names(), ["read:users"]);
        assert_eq!(a.union(b).len(), 3);
        assert_eq!(a.without(b).names(), ["manage:users"]);
        assert!(a.intersect(b).is_subset(a) && !a.is_subset(b));
        assert_eq!(PermissionSet::ALL.len() as usize, TABLE.len());
        assert_eq!(PermissionSet::ALL.keep(&[Verb::Config]).names(), ["config:alerts"]);
    }
}
