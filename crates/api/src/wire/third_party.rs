//! Third-party applications (spec: openid-provider#third-party-applications).

use bailiwick_identity::third_party::ThirdPartyApplication;
use serde::Serialize;
use utoipa::ToSchema;

/// How an application presents itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrandingOutput {
    /// Name to show; the application's `name` unless another is configured.
    pub display_name: String,
    /// Address of the logo for light backgrounds. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
    /// Address of the logo for dark backgrounds. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dark_logo_url: Option<String>,
}

/// A third-party application that the caller may sign in to.
#[derive(Debug, Serialize, ToSchema)]
pub struct ThirdPartyApplicationOutput {
    /// OAuth client id of the application.
    pub id: String,
    /// Name of the application.
    pub name: String,
    /// What the application is for; `""` when nothing is configured.
    pub description: String,
    /// Addresses that a sign-in may lead back to.
    pub redirect_uris: Vec<String>,
    /// Addresses that a sign-out may lead back to.
    pub post_logout_redirect_uris: Vec<String>,
    /// Address that opens the application, with a sign-in.
    pub login_url: String,
    /// Address of a page about the application. Absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info_url: Option<String>,
    /// Name and logos to show.
    pub branding: BrandingOutput,
}

impl From<ThirdPartyApplication> for ThirdPartyApplicationOutput {
    fn from(application: ThirdPartyApplication) -> ThirdPartyApplicationOutput {
        ThirdPartyApplicationOutput {
            id: application.id,
            name: application.name,
            description: application.description,
            redirect_uris: application.redirect_uris,
            post_logout_redirect_uris: application.post_logout_redirect_uris,
            login_url: application.login_url,
            info_url: application.info_url,
            branding: BrandingOutput {
                display_name: application.display_name,
                logo_url: application.logo_url,
                dark_logo_url: application.dark_logo_url,
            },
        }
    }
}

/// The third-party applications that the caller may sign in to.
#[derive(Debug, Serialize, ToSchema)]
pub struct ThirdPartyApplications(pub Vec<ThirdPartyApplicationOutput>);
