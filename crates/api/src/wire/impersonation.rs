//! Impersonation with consent (spec: impersonation#requests-while-impersonating).

use super::session::SessionUser;
use crate::envelope::Pagination;
use bailiwick_domain::Ts;
use bailiwick_identity::impersonation::{
    CONSENT_HOURS, Consent, Current, ImpersonationEntry, Recovery, Session, Started, Status, over_at,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A consent to be impersonated.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConsentInput {
    /// How long the consent is valid, in hours, at most 168; 1 if it is 0 or missing.
    #[schema(extensions(
        ("x-minimum" = json!(CONSENT_HOURS.start())),
        ("x-maximum" = json!(CONSENT_HOURS.end()))
    ))]
    pub duration_hours: Option<i64>,
}

/// A user's consent to be impersonated.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentOutput {
    /// Unique identifier of the consent.
    pub id: String,
    /// Id of the user who gave the consent.
    pub user_id: String,
    /// When the consent expires.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// How long the consent was given for, in minutes.
    pub max_duration_minutes: i64,
    /// When the consent was given.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Always true: only a valid consent is shown.
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

/// The caller's consent to be impersonated.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentAnswer {
    /// The consent; null when there is none.
    #[schema(required = true)]
    pub consent: Option<ConsentOutput>,
}

/// The user to impersonate.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct StartInput {
    /// Id of the user to impersonate.
    #[schema(required = true, nullable = false)]
    pub user_id: Option<String>,
}

/// An impersonation session that has started.
#[derive(Debug, Serialize, ToSchema)]
pub struct StartOutput {
    /// Always true.
    pub is_impersonating: bool,
    /// Impersonation token, for `Authorization: Bearer`. It cannot be refreshed.
    pub token: String,
    /// Seconds until the consent, and with it the token, expires.
    pub expires_in: u64,
    /// When the consent, and with it the token, expires.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// Id of the impersonation session.
    pub session_id: String,
    /// The user whose rights the token gives.
    pub impersonated_user: SessionUser,
    /// The user who acts.
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

/// Whether the caller impersonates another user. The fields after the first are present only if so.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct StatusOutput {
    /// Whether an impersonation session is active.
    pub is_impersonating: bool,
    /// Id of the impersonation session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The user whose rights the session gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonated_user: Option<SessionUser>,
    /// The user who acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonator: Option<SessionUser>,
    /// When the consent, and with it the session, expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Ts>,
    /// When the session started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Ts>,
    /// A new impersonation token of the session. Present only if the request had the impersonator's own token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Seconds until `token` expires. Present only with `token`.
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

/// State of a session in which one user acted as another.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    /// The session goes on.
    Active,
    /// The session has ended or expired.
    Completed,
}

/// A session in which one user acted as another.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionOutput {
    /// Unique identifier of the session.
    pub session_id: String,
    /// Id of the user who acted.
    pub impersonator_user_id: String,
    /// Id of the user whose rights were used.
    pub impersonated_user_id: String,
    /// User name of the impersonator when the session started.
    pub impersonator_username: String,
    /// User name of the impersonated user when the session started.
    pub impersonated_username: String,
    /// Display name of the impersonator when the session started.
    pub impersonator_name: String,
    /// Display name of the impersonated user when the session started.
    pub impersonated_name: String,
    /// When the session started.
    #[schema(value_type = String, format = DateTime)]
    pub start_time: Ts,
    /// When the session ended or expired; null while it is active.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub end_time: Option<Ts>,
    /// Length of the session in minutes, rounded; null while it is active.
    #[schema(required = true)]
    pub duration_minutes: Option<u64>,
    /// Number of audit entries of the session.
    pub action_count: i64,
    /// State: `active` or `completed`.
    pub status: SessionState,
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
            status: if end_time.is_some() { SessionState::Completed } else { SessionState::Active },
        }
    }
}

/// One impersonation session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionAnswer {
    /// The session.
    pub session: SessionOutput,
}

/// A page of impersonation sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    /// The sessions of this page, newest first.
    pub sessions: Vec<SessionOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

/// An entry of the record of an impersonation session. `api_endpoint`, `http_method`, `request_data`, `response_status`
/// and `response_status_text` are null for its start and end.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntryOutput {
    /// Unique identifier of the entry.
    pub id: String,
    /// Id of the session.
    pub session_id: String,
    /// Id of the user who acted.
    pub impersonator_user_id: String,
    /// Id of the user whose rights were used.
    pub impersonated_user_id: String,
    /// Kind of entry: `session_start`, `api_call` or `session_end`.
    pub action_type: String,
    /// Path and query of the request, without secrets, at most 255 characters.
    #[schema(required = true)]
    pub api_endpoint: Option<String>,
    /// HTTP method of the request.
    #[schema(required = true)]
    pub http_method: Option<String>,
    /// Body of the request, without secrets; null if it had none. A long body is cut at 10,000 characters.
    #[schema(required = true)]
    pub request_data: Option<String>,
    /// HTTP status of the answer; null if the request was never answered.
    #[schema(required = true)]
    pub response_status: Option<i64>,
    /// Text of that status, such as `Not Found`.
    #[schema(required = true)]
    pub response_status_text: Option<String>,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Ts,
    /// User name of the impersonator when the session started.
    pub impersonator_username: String,
    /// User name of the impersonated user when the session started.
    pub impersonated_username: String,
    /// Display name of the impersonator when the session started.
    pub impersonator_name: String,
    /// Display name of the impersonated user when the session started.
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

/// A page of the record of an impersonation session.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditList {
    /// Id of the session.
    pub session_id: String,
    /// The entries of this page, oldest first.
    pub entries: Vec<AuditEntryOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl AuditList {
    /// Of a page of a session's entries.
    pub fn of(session: &Session, entries: Vec<ImpersonationEntry>, pagination: Pagination) -> AuditList {
        let entries = entries.into_iter().map(|entry| AuditEntryOutput::of(session, entry)).collect();
        AuditList { session_id: session.id.to_string(), entries, pagination }
    }
}
