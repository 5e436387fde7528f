//! The caller's own sessions (spec: account#sessions).

use bailiwick_domain::{SignInMethod, Ts};
use bailiwick_identity::auth::OwnSession;
use serde::Serialize;
use utoipa::ToSchema;

/// A session. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnSessionOutput {
    /// Id.
    pub id: String,
    /// `console`, `command_line` for a token that the operator has made, or `application` for any other user interface or script.
    pub kind: &'static str,
    /// Its begin.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// The last renewal of its access: before the last request, by at most the life of an access token.
    #[schema(value_type = String, format = DateTime)]
    pub last_used_at: Ts,
    /// Its end, unless it is renewed before.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// The name that the client gave of itself when the session began, at most 200 characters.
    #[schema(required = true)]
    pub user_agent: Option<String>,
    /// The address it began from.
    #[schema(required = true)]
    pub client_ip: Option<String>,
    /// How the person has signed in at the embedded provider: `password`, `passkey`, `totp`, `recovery_code`; empty elsewhere.
    pub methods: Vec<&'static str>,
    /// Whether this request belongs to it.
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

/// `data` of the list.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnSessionList {
    /// The newest first.
    pub sessions: Vec<OwnSessionOutput>,
}
