//! Personal API keys (spec: account#api-keys).

use crate::envelope::Pagination;
use bailiwick_domain::{Page, Ts, validate::MAX_NAME_CHARS};
use bailiwick_identity::api_keys::{ApiKey, EVENTS, MAX_DAYS, Recorded, Wanted};
use bailiwick_policy::KeyMode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A personal API key to create.
// Secrets do not print, so there is no `Debug`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApiKeyInput {
    /// What the key is for.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// What the key may do: `read`, or `write` for changes too.
    #[schema(required = true, nullable = false)]
    #[schema(extensions(("x-enum" = json!(KeyMode::ALL.map(KeyMode::as_str)))))]
    pub mode: Option<String>,
    /// Lifetime of the key in days, from 1 to 365; 90 by default.
    #[schema(extensions(("x-minimum" = json!(1)), ("x-maximum" = json!(MAX_DAYS))))]
    pub expires_in_days: Option<i64>,
    /// The caller's own password.
    #[schema(required = true, nullable = false, min_length = 1)]
    pub password: Option<String>,
}

impl From<ApiKeyInput> for Wanted {
    fn from(input: ApiKeyInput) -> Wanted {
        Wanted {
            name: input.name,
            mode: input.mode,
            expires_in_days: input.expires_in_days,
            password: input.password,
        }
    }
}

/// A personal API key, without its token. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyOutput {
    /// Unique identifier of the key.
    pub id: String,
    /// Id of the user who owns the key.
    pub user_id: String,
    /// Id of the owner's current organization.
    pub organization_id: String,
    /// What the key is for.
    pub name: String,
    /// Public part of the token.
    pub key_public: String,
    /// What the key may do: `read`, or `write` for changes too.
    #[schema(extensions(("x-enum" = json!(KeyMode::ALL.map(KeyMode::as_str)))))]
    pub mode: &'static str,
    /// When the key expires.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// When the key was last used, written at most once a minute; null if never.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Ts>,
    /// IP address that the key was last used from; null if never.
    #[schema(required = true)]
    pub last_used_ip: Option<String>,
    /// When the owner revoked the key; null if the owner has not.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Ts>,
    /// When the key was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
}

impl From<ApiKey> for ApiKeyOutput {
    fn from(key: ApiKey) -> ApiKeyOutput {
        ApiKeyOutput {
            id: key.id.to_string(),
            user_id: key.user_id.to_string(),
            organization_id: key.organization_id.to_string(),
            name: key.name,
            key_public: key.key_public,
            mode: key.mode.as_str(),
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            last_used_ip: key.last_used_ip,
            revoked_at: key.revoked_at,
            created_at: key.created_at,
        }
    }
}

/// A new personal API key with its token.
// Secrets do not print, so there is no `Debug`.
#[derive(Serialize, ToSchema)]
pub struct NewApiKeyOutput {
    /// The key.
    #[serde(flatten)]
    pub key: ApiKeyOutput,
    /// Token for `Authorization: Bearer`. Shown only this once.
    pub token: String,
}

/// The caller's personal API keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyList {
    /// The keys, newest first.
    pub api_keys: Vec<ApiKeyOutput>,
}

/// Something that happened to an API key.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyEventOutput {
    /// Unique identifier of the entry.
    pub id: String,
    /// Id of the key.
    pub api_key_id: String,
    /// Id of the user who owns the key.
    pub user_id: String,
    /// Id of the owner's organization at that time.
    pub organization_id: String,
    /// What happened: `created`, `revoked`, `auth_failed` or `rate_limited`.
    #[schema(extensions(("x-enum" = json!(EVENTS))))]
    pub event: String,
    /// Why the key was refused: `revoked`, `expired`, `user_inactive` or `invalid_secret`; null unless `event` is
    /// `auth_failed`.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// Name of the key.
    pub key_name: String,
    /// Mode of the key: `read` or `write`.
    #[schema(extensions(("x-enum" = json!(KeyMode::ALL.map(KeyMode::as_str)))))]
    pub key_mode: String,
    /// IP address that the request came from.
    pub ip: String,
    /// HTTP method of the request.
    pub method: String,
    /// Path of the request below the base path, without its query.
    pub path: String,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
}

impl From<Recorded> for ApiKeyEventOutput {
    fn from(event: Recorded) -> ApiKeyEventOutput {
        ApiKeyEventOutput {
            id: event.id.to_string(),
            api_key_id: event.api_key_id.to_string(),
            user_id: event.user_id.to_string(),
            organization_id: event.organization_id.to_string(),
            event: event.event,
            reason: event.reason,
            key_name: event.key_name,
            key_mode: event.key_mode,
            ip: event.ip,
            method: event.method,
            path: event.path,
            created_at: event.created_at,
        }
    }
}

/// A page of what happened to the caller's API keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyHistory {
    /// The entries of this page, newest first.
    pub audit: Vec<ApiKeyEventOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl From<Page<Recorded>> for ApiKeyHistory {
    fn from(page: Page<Recorded>) -> ApiKeyHistory {
        let pagination = Pagination::of(&page, Some("created_at"), Some("desc"));
        ApiKeyHistory { audit: page.rows.into_iter().map(ApiKeyEventOutput::from).collect(), pagination }
    }
}
