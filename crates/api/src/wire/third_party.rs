//! Third-party applications (spec: openid-provider#third-party-applications).

use bailiwick_identity::third_party::ThirdPartyApplication;
use serde::Serialize;
use utoipa::ToSchema;

/// How an application looks.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrandingOutput {
    /// Shown in the place of the name.
    pub display_name: String,
    /// On a light ground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
    /// On a dark ground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dark_logo_url: Option<String>,
}

/// An application of a third party.
#[derive(Debug, Serialize, ToSchema)]
pub struct ThirdPartyApplicationOutput {
    /// Client id.
    pub id: String,
    /// Name.
    pub name: String,
    /// `""` when absent.
    pub description: String,
    /// Registered redirect addresses.
    pub redirect_uris: Vec<String>,
    /// The same for sign-out.
    pub post_logout_redirect_uris: Vec<String>,
    /// Where it is opened.
    pub login_url: String,
    /// Address of a page with more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info_url: Option<String>,
    /// How it looks.
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

/// All the caller may open.
#[derive(Debug, Serialize, ToSchema)]
pub struct ThirdPartyApplications(pub Vec<ThirdPartyApplicationOutput>);
