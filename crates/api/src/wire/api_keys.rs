//! Personal API keys (spec: account#api-keys).

use crate::envelope::Pagination;
use bailiwick_domain::{Page, Ts};
use bailiwick_identity::api_keys::{ApiKey, Recorded, Wanted};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of a creation. Never printed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApiKeyInput {
    /// What the key is for.
    #[schema(required = true, nullable = false)]
    pub name: Option<String>,
    /// `read` or `write`.
    #[schema(required = true, nullable = false)]
    pub mode: Option<String>,
    /// 1 to 365; 90 when absent.
    pub expires_in_days: Option<i64>,
    /// The owner's password.
    #[schema(required = true, nullable = false)]
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

/// A key. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyOutput {
    /// Id.
    pub id: String,
    /// Its owner.
    pub user_id: String,
    /// The owner's present organization.
    pub organization_id: String,
    /// What the key is for.
    pub name: String,
    /// Public part of the token.
    pub key_public: String,
    /// `read` or `write`.
    pub mode: &'static str,
    /// From then on it is refused.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Ts,
    /// Last use, up to a minute late.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Ts>,
    /// Address of that use.
    #[schema(required = true)]
    pub last_used_ip: Option<String>,
    /// End by its owner.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Ts>,
    /// Creation.
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

/// A new key with its token. Never printed.
#[derive(Serialize, ToSchema)]
pub struct NewApiKeyOutput {
    /// The key.
    #[serde(flatten)]
    pub key: ApiKeyOutput,
    /// For `Authorization: Bearer`; shown only now.
    pub token: String,
}

/// The caller's keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyList {
    /// The newest first.
    pub api_keys: Vec<ApiKeyOutput>,
}

/// Something that happened to a key.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyEventOutput {
    /// Id.
    pub id: String,
    /// The key.
    pub api_key_id: String,
    /// Its owner.
    pub user_id: String,
    /// The owner's organization at that time.
    pub organization_id: String,
    /// `created`, `revoked`, `auth_failed` or `rate_limited`.
    pub event: String,
    /// Of `auth_failed`: `revoked`, `expired`, `user_inactive` or `invalid_secret`.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// Name of the key.
    pub key_name: String,
    /// Mode of the key.
    pub key_mode: String,
    /// Where the request came from.
    pub ip: String,
    /// Its method.
    pub method: String,
    /// Its path below the base path, without query.
    pub path: String,
    /// When.
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

/// One page of what happened to the caller's keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyHistory {
    /// The newest first.
    pub audit: Vec<ApiKeyEventOutput>,
    /// Page.
    pub pagination: Pagination,
}

impl From<Page<Recorded>> for ApiKeyHistory {
    fn from(page: Page<Recorded>) -> ApiKeyHistory {
        let pagination = Pagination::of(&page, Some("created_at"), Some("desc"));
        ApiKeyHistory { audit: page.rows.into_iter().map(ApiKeyEventOutput::from).collect(), pagination }
    }
}
