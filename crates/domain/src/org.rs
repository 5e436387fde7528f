//! Organizations and their four levels.

use crate::{OrgId, Ts, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The type of an organization; it fixes its level in the tree and the organization role of its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrgType {
    /// The one at the top; level 1.
    Owner,
    /// Level 2.
    Distributor,
    /// Level 3.
    Reseller,
    /// Level 4; has no permissions on organizations.
    Customer,
}

impl OrgType {
    /// All types, from the top.
    pub const ALL: [OrgType; 4] =
        [OrgType::Owner, OrgType::Distributor, OrgType::Reseller, OrgType::Customer];

    /// The three families, from the top: all but the owner.
    pub const FAMILIES: [OrgType; 3] = [OrgType::Distributor, OrgType::Reseller, OrgType::Customer];

    /// 1 (owner) to 4 (customer); a smaller level is higher in the tree.
    pub const fn level(self) -> u8 {
        match self {
            OrgType::Owner => 1,
            OrgType::Distributor => 2,
            OrgType::Reseller => 3,
            OrgType::Customer => 4,
        }
    }

    /// Lower-case word of the wire, also the key of the organization role.
    pub const fn as_str(self) -> &'static str {
        match self {
            OrgType::Owner => "owner",
            OrgType::Distributor => "distributor",
            OrgType::Reseller => "reseller",
            OrgType::Customer => "customer",
        }
    }

    /// The resource word: `distributors`, `resellers`, `customers` (and `owners`, which is no route).
    pub const fn plural(self) -> &'static str {
        match self {
            OrgType::Owner => "owners",
            OrgType::Distributor => "distributors",
            OrgType::Reseller => "resellers",
            OrgType::Customer => "customers",
        }
    }

    /// The capitalised name of the organization role (`Owner`, …).
    pub const fn role_name(self) -> &'static str {
        match self {
            OrgType::Owner => "Owner",
            OrgType::Distributor => "Distributor",
            OrgType::Reseller => "Reseller",
            OrgType::Customer => "Customer",
        }
    }

    /// From the lower-case word, in any case.
    pub fn parse(s: &str) -> Option<OrgType> {
        OrgType::ALL.into_iter().find(|t| t.as_str().eq_ignore_ascii_case(s))
    }
}

/// Where the creator's organization is, as seen from what they created: who is shown the creator depends on it (spec:
/// authorization#creators).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The organization of what they created or one above it; or none is known.
    #[default]
    Above,
    /// Elsewhere, below these organizations of level 2 and 3.
    Elsewhere {
        /// At level 2.
        p2: OrgId,
        /// At level 3.
        p3: OrgId,
    },
    /// Elsewhere, and it no longer exists.
    Gone,
}

/// The creator of an entity, as known at that moment (spec: organizations#creator). `organization_name` follows renames
/// when it is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Creator {
    /// Absent when a background job created it.
    pub user_id: Option<UserId>,
    /// User name at that moment.
    pub username: String,
    /// Name at that moment.
    pub name: String,
    /// E-mail at that moment.
    pub email: String,
    /// The creator's organization, or the attributed one.
    pub organization_id: Option<OrgId>,
    /// Its present name; the last known one once it no longer exists.
    pub organization_name: String,
    /// True when the organization was attributed by `created_by_organization_id`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_behalf_of: bool,
    /// Where that organization is now; known of a creator that was read, and at the creation of a system.
    #[serde(skip)]
    pub origin: Origin,
}

/// A mark as the wire shows it: own, or inherited from the nearest marked ancestor (spec: organizations#hierarchy).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// When; none = not marked.
    pub at: Option<Ts>,
    /// The ancestor that the mark comes from; none when own.
    pub by: Option<OrgId>,
}

impl Mark {
    /// An own mark wins over an inherited one.
    pub fn effective(own: Option<Ts>, inherited: Mark) -> Mark {
        if own.is_some() { Mark { at: own, by: None } } else { inherited }
    }

    /// Whether it is set.
    pub const fn is_set(&self) -> bool {
        self.at.is_some()
    }

    /// This mark of organization `id`, in the form that the rows below it inherit.
    pub fn inherited_from(self, id: OrgId) -> Mark {
        Mark { at: self.at, by: self.at.map(|_| self.by.unwrap_or(id)) }
    }
}

/// What people write of an organization beside its free data. A further field of this kind is added here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// At most 255 characters, not blank.
    pub name: String,
    /// `""` when absent.
    pub description: String,
}

impl Details {
    /// With nothing but a name and a description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Details {
        Details { name: name.into(), description: description.into() }
    }
}

/// An organization with its effective state.
#[derive(Clone, Debug, PartialEq)]
pub struct Organization {
    /// Id, also the tenant id.
    pub id: OrgId,
    /// Level.
    pub org_type: OrgType,
    /// None only for the owner.
    pub parent_id: Option<OrgId>,
    /// What people write of it.
    pub details: Details,
    /// As sent; none only for the owner.
    pub vat: Option<String>,
    /// Client keys only.
    pub custom_data: Map<String, Value>,
    /// Creation.
    pub created_at: Ts,
    /// Last PUT (or creation, promotion).
    pub updated_at: Ts,
    /// Organization of the last updater; none before the first PUT.
    pub updated_by_org_id: Option<OrgId>,
    /// Creation snapshot.
    pub created_by: Option<Creator>,
    /// Effective suspension.
    pub suspended: Mark,
    /// Effective deletion.
    pub deleted: Mark,
    /// The former place of a promoted distributor.
    pub promoted_from: Option<PromotedFrom>,
    /// The nearest organization with rebranding, itself or above (spec: rebranding#system-document).
    pub rebranding: Option<OrgId>,
    /// The organization's Logto sync state.
    pub mirrored: SyncState,
}

/// The Logto sync state of a user or an organization (identity mode `logto`). Empty in the other modes, and unless it
/// was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncState {
    /// When the provider last got everything.
    pub synced_at: Option<Ts>,
    /// The tenant's refusals since then.
    pub error: Option<String>,
}

/// The former level and place of a promoted distributor (spec: organizations#promotion).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromotedFrom {
    /// The former level.
    pub level: OrgType,
    /// When.
    pub at: Ts,
    /// The former parent organization; it may no longer exist.
    pub detached_from_organization_id: OrgId,
    /// The user who promoted it, as known then; none for the service itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Creator>,
}

/// The client's keys overlaid by those of the server, as every answer shows `custom_data` (spec:
/// organizations#custom-data). `updated` is the organization of the last updater and the time of the update.
pub fn shown_custom_data(
    client: Map<String, Value>,
    org_type: OrgType,
    parent: Option<OrgId>,
    created_at: Ts,
    updated: Option<(OrgId, Ts)>,
) -> Map<String, Value> {
    let mut shown = client;
    let mut put = |key: &str, value: Value| {
        shown.insert(key.to_owned(), value);
    };
    put("type", org_type.as_str().into());
    put("createdBy", parent.map_or(Value::Null, |id| id.to_string().into()));
    put("createdAt", created_at.rfc3339(0).into());
    if let Some((by, at)) = updated {
        put("updatedBy", by.to_string().into());
        put("updatedAt", at.rfc3339(0).into());
    }
    shown
}

/// The data of an organization that other objects show.
#[derive(Clone, Debug, PartialEq)]
pub struct OrgRef {
    pub id: OrgId,
    /// Present name.
    pub name: String,
    /// Level.
    pub org_type: OrgType,
}
