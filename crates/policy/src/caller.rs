//! The caller: the identity a request acts as, read live for every request.

use crate::{Effective, Permission, PermissionSet, Verb};
use bailiwick_domain::{
    ChainId, OrgType, SystemId, Ts, UserId,
    org::{Creator, OrgRef},
};
use std::sync::Arc;

/// A user with everything a decision, a creation snapshot and the wire identity need.
#[derive(Clone, Debug, PartialEq)]
pub struct UserIdentity {
    pub user_id: UserId,
    /// User name.
    pub username: String,
    /// Display name.
    pub name: String,
    pub email: String,
    /// Digits only.
    pub phone: Option<String>,
    /// The user's organization.
    pub organization: OrgRef,
    /// Present permissions.
    pub effective: Effective,
}

/// The part of the owner's permissions that an API key keeps (spec: authorization#effective-permissions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMode {
    Read,
    /// `read:*` and `manage:*`.
    Write,
}

impl KeyMode {
    /// Both of them.
    pub const ALL: [KeyMode; 2] = [KeyMode::Read, KeyMode::Write];

    /// Its word on the wire and in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyMode::Read => "read",
            KeyMode::Write => "write",
        }
    }

    /// From its word.
    pub fn parse(word: &str) -> Option<KeyMode> {
        KeyMode::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// The permissions that pass; `destroy`, `impersonate`, `config` and `connect` never do.
    pub fn mask(self, set: PermissionSet) -> PermissionSet {
        match self {
            KeyMode::Read => set.keep(&[Verb::Read]),
            KeyMode::Write => set.keep(&[Verb::Read, Verb::Manage]),
        }
    }
}

/// A user token.
#[derive(Clone, Debug)]
pub struct UserCaller {
    /// The user the request acts as; the target while impersonating.
    pub identity: Arc<UserIdentity>,
    /// The chain of the token; none for tokens outside a chain.
    pub chain: Option<ChainId>,
    /// Set while impersonating: the impersonator, for whom the target's rights are used.
    pub acting_for: Option<UserId>,
    /// When the user signed in; while impersonating, when the impersonator did. None for callers without a sign-in.
    pub signed_in_at: Option<Ts>,
}

/// A system with its own credential.
#[derive(Clone, Debug)]
pub struct SystemCaller {
    pub id: SystemId,
    /// Public half of the credential.
    pub system_key: String,
    /// Its organization; the organization's id is the tenant.
    pub organization: OrgRef,
}

/// The identity behind a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A user, or a target that is impersonated.
    User(UserCaller),
    /// A personal API key.
    ApiKey {
        /// The key's owner.
        identity: Arc<UserIdentity>,
        /// Which of the user's permissions the key has.
        mode: KeyMode,
    },
    /// A system; it has no permissions, its operations concern only itself.
    System(SystemCaller),
    /// A background job of the service itself.
    Worker,
    /// No one: the request has no credential.
    Anonymous,
}

impl Caller {
    /// An ordinary user token.
    pub fn user(identity: Arc<UserIdentity>, chain: Option<ChainId>) -> Caller {
        Caller::User(UserCaller { identity, chain, acting_for: None, signed_in_at: None })
    }

    /// This caller, as a person who proved their identity at this time.
    #[must_use]
    pub fn signed_in(mut self, at: Ts) -> Caller {
        if let Caller::User(user) = &mut self {
            user.signed_in_at = Some(at);
        }
        self
    }

    /// P(caller) of the credential used: masked for a key, the target's while impersonating.
    pub fn permissions(&self) -> PermissionSet {
        match self {
            Caller::User(user) => user.identity.effective.set(),
            Caller::ApiKey { identity, mode } => mode.mask(identity.effective.set()),
            Caller::Worker => PermissionSet::ALL,
            Caller::System(_) | Caller::Anonymous => PermissionSet::EMPTY,
        }
    }

    /// Whether it has the permission.
    pub fn holds(&self, permission: Permission) -> bool {
        self.permissions().contains(permission)
    }

    /// Whether it has any of the permissions.
    pub fn holds_one_of(&self, permissions: &[Permission]) -> bool {
        permissions.iter().any(|permission| self.holds(*permission))
    }

    /// The user behind a token or key.
    pub fn identity(&self) -> Option<&UserIdentity> {
        match self {
            Caller::User(UserCaller { identity, .. }) | Caller::ApiKey { identity, .. } => Some(identity),
            _ => None,
        }
    }

    /// The user's id.
    pub fn user_id(&self) -> Option<UserId> {
        self.identity().map(|i| i.user_id)
    }

    /// The organization of the user or system.
    pub fn org(&self) -> Option<&OrgRef> {
        match self {
            Caller::System(system) => Some(&system.organization),
            _ => self.identity().map(|i| &i.organization),
        }
    }

    /// Type of the user's organization. A system has none: it does not have its organization's rights.
    pub fn org_type(&self) -> Option<OrgType> {
        self.identity().map(|i| i.organization.org_type)
    }

    /// The impersonator, while impersonating.
    pub fn acting_for(&self) -> Option<UserId> {
        match self {
            Caller::User(user) => user.acting_for,
            _ => None,
        }
    }

    /// Whether it is the caller's own id; while impersonating, both the target's and the impersonator's count (spec:
    /// authorization#self-guard).
    pub fn is_self(&self, user: UserId) -> bool {
        self.user_id() == Some(user) || self.acting_for() == Some(user)
    }

    /// Whether the caller sees the secrets of alert recipients: only users who act for themselves and may change the
    /// secrets (spec: alert-management#management).
    pub fn may_see_alert_secrets(&self) -> bool {
        self.holds(Permission::ManageAlerts) && !self.is_api_key() && self.acting_for().is_none()
    }

    /// Whether the credential is an API key.
    pub const fn is_api_key(&self) -> bool {
        matches!(self, Caller::ApiKey { .. })
    }

    /// Whether the credential may never change anything.
    pub const fn is_read_only(&self) -> bool {
        matches!(self, Caller::ApiKey { mode: KeyMode::Read, .. })
    }

    /// The top of the tree, or the service itself.
    pub fn is_owner_level(&self) -> bool {
        matches!(self, Caller::Worker) || self.org_type() == Some(OrgType::Owner)
    }

    /// The creation snapshot of spec: organizations#creator; none unless the request comes from a user.
    pub fn creator(&self) -> Option<Creator> {
        self.identity().map(|i| Creator {
            user_id: Some(i.user_id),
            username: i.username.clone(),
            name: i.name.clone(),
            email: i.email.clone(),
            organization_id: Some(i.organization.id),
            organization_name: i.organization.name.clone(),
            ..Creator::default()
        })
    }
}
