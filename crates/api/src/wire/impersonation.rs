//! Impersonation with consent (spec: impersonation#requests-while-impersonating).

use super::session::SessionUser;
use crate::envelope::Pagination;
use bailiwick_domain::Ts;
use bailiwick_identity::impersonation::{
    Consent, Current, ImpersonationEntry, Recovery, Session, Started, Status, over_at,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of a consent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConsentInput {
    /// 0 to 168; 0 or missing = 1.
    pub duration_hours: Option<i64>,
}

/// A consent.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentOutput {
    /// Id.
    pub id: String,
    /// The user who has given it.
    pub user_id: String,
    /// Its end.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// How long it was given for.
    pub max_duration_minutes: i64,
    /// When it was given.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Always true: others are not shown.
    pub active: bool,
}

impl From<Consent> for ConsentOutput {
    fn from(consent: Consent) -> ConsentOutput {
        ConsentOutput {
            id: consent.id.to_string(),
            user_id: consent.user_id.to_string(),
            expires_at: consent.expires_at,
            max_duration_minutes: consent.max_duration_minutes,
            created_at: consent.created_at,
            active: true,
        }
    }
}

/// The caller's consent.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentAnswer {
    /// Null without one.
    #[schema(required = true)]
    pub consent: Option<ConsentOutput>,
}

/// Body of a start.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct StartInput {
    /// As whom.
    #[schema(required = true, nullable = false)]
    pub user_id: Option<String>,
}

/// A session that has started.
#[derive(Debug, Serialize, ToSchema)]
pub struct StartOutput {
    /// True.
    pub is_impersonating: bool,
    /// Impersonation token, for `Authorization: Bearer`; there is no refresh token.
    pub token: String,
    /// Seconds to the expiry of the consent.
    pub expires_in: u64,
    /// The expiry of the consent.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// The session.
    pub session_id: String,
    /// Whose rights the token gives.
    pub impersonated_user: SessionUser,
    /// To whom.
    pub impersonator: SessionUser,
}

impl From<Started> for StartOutput {
    fn from(started: Started) -> StartOutput {
        StartOutput {
            is_impersonating: true,
            token: started.token,
            expires_in: started.expires_in,
            expires_at: started.session.expires_at,
            session_id: started.session.id.to_string(),
            impersonated_user: started.impersonated.into(),
            impersonator: started.impersonator.into(),
        }
    }
}

/// Whether the caller acts as another user; all fields but the first only if so.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct StatusOutput {
    /// Whether a session goes on.
    pub is_impersonating: bool,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whose rights it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonated_user: Option<SessionUser>,
    /// To whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonator: Option<SessionUser>,
    /// The expiry of the consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Ts>,
    /// Start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Ts>,
    /// With the impersonator's own token: a fresh impersonation token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Seconds it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

impl From<Status> for StatusOutput {
    fn from(status: Status) -> StatusOutput {
        let (current, recovery) = match status {
            Status::No => return StatusOutput::default(),
            Status::Acting(current) => (current, None),
            Status::Own(current, recovery) => (current, Some(recovery)),
        };
        let Current { session, impersonated, impersonator } = *current;
        let (token, expires_in) = recovery.map(|Recovery { token, expires_in }| (token, expires_in)).unzip();
        StatusOutput {
            is_impersonating: true,
            session_id: Some(session.id.to_string()),
            impersonated_user: Some(impersonated.into()),
            impersonator: Some(impersonator.into()),
            expires_at: Some(session.expires_at),
            created_at: Some(session.started_at),
            token,
            expires_in,
        }
    }
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionOutput {
    /// Id.
    pub session_id: String,
    /// The user who acted.
    pub impersonator_user_id: String,
    /// As whom.
    pub impersonated_user_id: String,
    /// User name at the start.
    pub impersonator_username: String,
    /// User name at the start.
    pub impersonated_username: String,
    /// Display name at the start.
    pub impersonator_name: String,
    /// Display name at the start.
    pub impersonated_name: String,
    /// Start.
    #[schema(value_type = String, format = DateTime)]
    pub start_time: Ts,
    /// End, or null.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub end_time: Option<Ts>,
    /// Rounded, or null.
    #[schema(required = true)]
    pub duration_minutes: Option<u64>,
    /// All audit entries.
    pub action_count: i64,
    /// `active` or `completed`.
    pub status: &'static str,
}

impl SessionOutput {
    /// As it is at this moment.
    pub fn at(session: Session, now: Ts) -> SessionOutput {
        let end_time = over_at(&session, now);
        let minutes = |end: Ts| (end.since(session.started_at).as_secs() + 30) / 60;
        SessionOutput {
            session_id: session.id.to_string(),
            impersonator_user_id: session.impersonator.id.to_string(),
            impersonated_user_id: session.impersonated.id.to_string(),
            impersonator_username: session.impersonator.username,
            impersonated_username: session.impersonated.username,
            impersonator_name: session.impersonator.name,
            impersonated_name: session.impersonated.name,
            start_time: session.started_at,
            end_time,
            duration_minutes: end_time.map(minutes),
            action_count: session.action_count,
            status: if end_time.is_some() { "completed" } else { "active" },
        }
    }
}

/// One session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionAnswer {
    /// The session.
    pub session: SessionOutput,
}

/// One page of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    /// Rows, the newest first.
    pub sessions: Vec<SessionOutput>,
    /// Page.
    pub pagination: Pagination,
}

/// What was done in a session. The five fields of a call are null for its start and end.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntryOutput {
    /// Id.
    pub id: String,
    /// The session.
    pub session_id: String,
    /// The user who acted.
    pub impersonator_user_id: String,
    /// As whom.
    pub impersonated_user_id: String,
    /// `session_start`, `api_call` or `session_end`.
    pub action_type: String,
    /// Path and query without secrets, 255 characters at most.
    #[schema(required = true)]
    pub api_endpoint: Option<String>,
    /// Method.
    #[schema(required = true)]
    pub http_method: Option<String>,
    /// Body without secrets; null for a request without one.
    #[schema(required = true)]
    pub request_data: Option<String>,
    /// Status of the answer; null when it was never sent.
    #[schema(required = true)]
    pub response_status: Option<i64>,
    /// Its words.
    #[schema(required = true)]
    pub response_status_text: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// User name at the start.
    pub impersonator_username: String,
    /// User name at the start.
    pub impersonated_username: String,
    /// Display name at the start.
    pub impersonator_name: String,
    /// Display name at the start.
    pub impersonated_name: String,
}

impl AuditEntryOutput {
    fn of(session: &Session, entry: ImpersonationEntry) -> AuditEntryOutput {
        let (by, of) = (&session.impersonator, &session.impersonated);
        AuditEntryOutput {
            id: entry.id.to_string(),
            session_id: session.id.to_string(),
            impersonator_user_id: by.id.to_string(),
            impersonated_user_id: of.id.to_string(),
            action_type: entry.action_type,
            api_endpoint: entry.api_endpoint,
            http_method: entry.http_method,
            request_data: entry.request_data,
            response_status: entry.response_status,
            response_status_text: entry.response_status_text,
            timestamp: entry.at,
            impersonator_username: by.username.clone(),
            impersonated_username: of.username.clone(),
            impersonator_name: by.name.clone(),
            impersonated_name: of.name.clone(),
        }
    }
}

/// One page of what was done in a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditList {
    /// The session.
    pub session_id: String,
    /// Rows, the oldest first.
    pub entries: Vec<AuditEntryOutput>,
    /// Page.
    pub pagination: Pagination,
}

impl AuditList {
    /// Of a page of a session's entries.
    pub fn of(session: &Session, entries: Vec<ImpersonationEntry>, pagination: Pagination) -> AuditList {
        let entries = entries.into_iter().map(|entry| AuditEntryOutput::of(session, entry)).collect();
        AuditList { session_id: session.id.to_string(), entries, pagination }
    }
}
