//! The requests and answers of the Management API.

use super::is_id;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

/// Ids are inserted into addresses: an invalid one makes the answer unreadable.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    if is_id(&id) { Ok(id) } else { Err(D::Error::custom("an id that cannot be used")) }
}

/// A user as Logto receives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogtoUserFields {
    /// User name.
    pub username: String,
    /// Display name.
    pub name: String,
    pub primary_email: String,
    /// Digits; `""` clears it.
    pub primary_phone: String,
    /// Server-owned and client keys.
    pub custom_data: Map<String, Value>,
}

/// An organization as Logto gets it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogtoOrganizationFields {
    pub name: String,
    /// Description; `""` clears it.
    pub description: String,
    /// Server-owned and client keys.
    pub custom_data: Map<String, Value>,
}

/// An account, as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Id; the subject of its tokens.
    #[serde(deserialize_with = "id")]
    pub id: String,
    /// User name.
    pub username: Option<String>,
    pub primary_email: Option<String>,
    /// Digits.
    pub primary_phone: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// Address of its picture.
    pub avatar: Option<String>,
    /// Whether it may not sign in.
    #[serde(default)]
    pub is_suspended: bool,
    /// The custom data stored with the account.
    #[serde(default)]
    pub custom_data: Value,
}

/// A role or an organization.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    #[serde(deserialize_with = "id")]
    pub id: String,
    #[serde(default)]
    pub name: String,
    /// Of an organization.
    #[serde(default)]
    pub description: Option<String>,
    /// The custom data stored with an organization.
    #[serde(default)]
    pub custom_data: Value,
}

/// The only field of an answer to a creation that is read.
#[derive(Deserialize)]
pub(super) struct Created {
    #[serde(deserialize_with = "id")]
    pub(super) id: String,
}

/// An application of the tenant.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    /// Client id.
    #[serde(deserialize_with = "id")]
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// Whether it belongs to another account.
    #[serde(default)]
    pub is_third_party: bool,
    /// Registered addresses.
    #[serde(default)]
    pub oidc_client_metadata: ApplicationClient,
    /// `access_control`, `login_url` …
    #[serde(default)]
    pub custom_data: Value,
}

/// Registered addresses of an application.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationClient {
    /// After sign-in.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// After sign-out.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
}

/// How an application shows itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInExperience {
    /// Shown in the place of the name.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Logos.
    #[serde(default)]
    pub branding: Option<Branding>,
}

/// Logos of an application.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Branding {
    /// On a light ground.
    #[serde(default)]
    pub logo_url: Option<String>,
    /// On a dark ground.
    #[serde(default)]
    pub dark_logo_url: Option<String>,
}

/// The scopes that people may grant an application.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentScopes {
    /// Of the person: `profile`, `email` …
    #[serde(default)]
    pub user_scopes: Vec<String>,
}

/// A custom domain of the tenant.
#[derive(Clone, Debug, Deserialize)]
pub struct Domain {
    /// Host name.
    pub domain: String,
    /// `Active` when it can be used.
    #[serde(default)]
    pub status: String,
}
