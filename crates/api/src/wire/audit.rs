//! The audit record (spec: audit#list).

use bailiwick_directory::audit;
use bailiwick_domain::{Ts, exact};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A user who is named in a row.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditPerson {
    /// Id.
    pub id: String,
    /// Present name; null once the user is destroyed.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Present address; null once the user is destroyed.
    #[schema(required = true)]
    pub email: Option<String>,
}

/// The organization of the user whose rights were used.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditOrganization {
    /// Id.
    pub id: String,
    /// Present name; null once the organization is destroyed.
    #[schema(required = true)]
    pub name: Option<String>,
}

/// One change. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    /// Names the change.
    pub id: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Who acted; null = a system, the service itself, or an impersonator outside the caller's hierarchy.
    #[schema(required = true)]
    pub actor: Option<AuditPerson>,
    /// Whose rights the actor used, while impersonating.
    #[schema(required = true)]
    pub acting_for: Option<AuditPerson>,
    /// Organization of the user whose rights were used.
    #[schema(required = true)]
    pub organization: Option<AuditOrganization>,
    /// `<kind of object>.<what>`.
    pub action: String,
    /// Kind of the object.
    pub object_type: String,
    /// Id of the object.
    #[schema(required = true)]
    pub object_id: Option<String>,
    /// What the action has changed, before.
    #[schema(required = true)]
    #[serde(serialize_with = "exact::write_value")]
    pub before: Option<Value>,
    /// The same after it.
    #[schema(required = true)]
    #[serde(serialize_with = "exact::write_value")]
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    #[schema(required = true)]
    pub request_id: Option<String>,
}

/// `GET /audit`.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditPage {
    /// Changes, the newest first.
    pub audit: Vec<AuditEntry>,
    /// `cursor` of the next page; null at the end.
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
