//! The audit record (spec: audit#list).

use bailiwick_directory::audit;
use bailiwick_domain::{Ts, exact};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A user in an entry of the audit record.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditPerson {
    /// Id of the user.
    pub id: String,
    /// Current name of the user; null once the user is destroyed.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Current e-mail address of the user; null once the user is destroyed.
    #[schema(required = true)]
    pub email: Option<String>,
}

/// An organization in an entry of the audit record.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditOrganization {
    /// Id of the organization.
    pub id: String,
    /// Current name of the organization; null once it is destroyed.
    #[schema(required = true)]
    pub name: Option<String>,
}

/// An entry of the audit record: one change. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    /// Unique identifier of the entry.
    pub id: String,
    /// When the change was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Who made the change; null if it was a system, the service itself, or a person outside the caller's scope.
    #[schema(required = true)]
    pub actor: Option<AuditPerson>,
    /// The user that the actor impersonated; null if none, or if that user is outside the caller's scope.
    #[schema(required = true)]
    pub acting_for: Option<AuditPerson>,
    /// The organization, at the time of the change, of the user whose rights were used; null if no user's were.
    #[schema(required = true)]
    pub organization: Option<AuditOrganization>,
    /// What was done, such as `system.create`.
    pub action: String,
    /// Kind of the object that was changed, such as `system`.
    pub object_type: String,
    /// Id of the object that was changed; null when there is none.
    #[schema(required = true)]
    pub object_id: Option<String>,
    /// The changed fields before the change, without secrets; null when there are none.
    #[schema(required = true)]
    #[serde(serialize_with = "exact::write_value")]
    pub before: Option<Value>,
    /// The changed fields after the change, without secrets; null when there are none.
    #[schema(required = true)]
    #[serde(serialize_with = "exact::write_value")]
    pub after: Option<Value>,
    /// `X-Request-Id` of the request that made the change; null when there was none.
    #[schema(required = true)]
    pub request_id: Option<String>,
}

/// A page of the audit record.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditPage {
    /// The entries, newest first. May have fewer entries than `page_size`, or none, before the end.
    pub audit: Vec<AuditEntry>,
    /// Value of `cursor` for the next page; null at the end.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

impl From<audit::Named> for AuditPerson {
    fn from(named: audit::Named) -> AuditPerson {
        AuditPerson { id: named.id.to_string(), name: named.name, email: named.email }
    }
}

impl From<audit::AuditChange> for AuditEntry {
    fn from(entry: audit::AuditChange) -> AuditEntry {
        let organization =
            entry.organization.map(|(id, name)| AuditOrganization { id: id.to_string(), name });
        AuditEntry {
            id: entry.id.to_string(),
            created_at: entry.at,
            actor: entry.actor.map(Into::into),
            acting_for: entry.acting_for.map(Into::into),
            organization,
            action: entry.action,
            object_type: entry.object_type,
            object_id: entry.object_id.map(|id| id.to_string()),
            before: entry.before,
            after: entry.after,
            request_id: entry.request_id,
        }
    }
}

impl From<audit::AuditChanges> for AuditPage {
    fn from(found: audit::AuditChanges) -> AuditPage {
        AuditPage { audit: found.entries.into_iter().map(Into::into).collect(), next_cursor: found.next }
    }
}
