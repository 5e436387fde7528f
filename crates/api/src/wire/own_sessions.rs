//! The caller's own sessions (spec: account#sessions).

use bailiwick_domain::{SignInMethod, Ts};
use bailiwick_identity::auth::OwnSession;
use serde::Serialize;
use utoipa::ToSchema;

/// One of the caller's sessions. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnSessionOutput {
    /// Unique identifier of the session.
    pub id: String,
    /// What the session belongs to: `console`, `command_line` (a token that the operator has made) or `application`
    /// (any other client).
    pub kind: &'static str,
    /// When the session began.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the session was last refreshed. Its last request may be later, by at most the lifetime of an access token.
    #[schema(value_type = String, format = DateTime)]
    pub last_used_at: Ts,
    /// When the session ends unless it is refreshed before.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// `User-Agent` of the request that began the session, at most 200 characters; null if it had none.
    #[schema(required = true)]
    pub user_agent: Option<String>,
    /// IP address of the request that began the session; null if it is not known.
    #[schema(required = true)]
    pub client_ip: Option<String>,
    /// How the user signed in at the built-in provider: `password`, `passkey`, `totp` and `recovery_code`. Empty with
    /// another identity provider.
    pub methods: Vec<&'static str>,
    /// Whether this request belongs to the session.
    pub is_present: bool,
}

impl From<OwnSession> for OwnSessionOutput {
    fn from(OwnSession { chain, is_present }: OwnSession) -> OwnSessionOutput {
        OwnSessionOutput {
            id: chain.id.to_string(),
            kind: chain.kind(),
            created_at: chain.created_at,
            last_used_at: chain.last_used_at,
            expires_at: chain.expires_at,
            user_agent: chain.device.user_agent,
            client_ip: chain.device.client_ip,
            methods: chain.methods.unwrap_or_default().iter().map(SignInMethod::as_str).collect(),
            is_present,
        }
    }
}

/// The caller's live sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnSessionList {
    /// The sessions, newest first; at most 500.
    pub sessions: Vec<OwnSessionOutput>,
}
