//! Third-party applications people may open (spec: openid-provider#third-party-applications): those of the catalogue in
//! the configuration, and those a Logto tenant knows.

use crate::{
    Identity,
    logto_sync::{self, Applications},
    oidc, relying_party,
};
use bailiwick_domain::{Entropy, fold::fold, ports::random_hex};
use bailiwick_policy::{Caller, UserIdentity};
use bailiwick_settings::{Client, Settings};
use url::form_urlencoded;

/// The scopes an application requests when it is opened from the list (spec: openid-provider#third-party-applications).
const DEFAULT_SCOPE: &str = "openid profile email";

/// An application as one person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThirdPartyApplication {
    /// Client id.
    pub id: String,
    pub name: String,
    /// `""` when absent.
    pub description: String,
    /// Registered redirect addresses.
    pub redirect_uris: Vec<String>,
    /// Registered redirect addresses after sign-out.
    pub post_logout_redirect_uris: Vec<String>,
    /// Where it is opened.
    pub login_url: String,
    /// A page with more information about it.
    pub info_url: Option<String>,
    /// Shown in the place of the name.
    pub display_name: String,
    /// On a light ground.
    pub logo_url: Option<String>,
    /// On a dark ground.
    pub dark_logo_url: Option<String>,
}

/// The applications that admit the caller: those of the catalogue, and those of the tenant with other ids.
pub async fn visible(service: &Identity, caller: &Caller) -> Vec<ThirdPartyApplication> {
    let tenant = logto_sync::applications(service).await;
    let (tenant_clients, domain) = match tenant.as_deref() {
        Some(Applications { clients, sign_in }) => (clients.as_slice(), sign_in.clone()),
        None => (&[][..], None),
    };
    let sign_in = match domain {
        Some(address) => address,
        None => sign_in_address(service).await,
    };
    let own_clients = &service.settings.provider.clients;
    let others = tenant_clients.iter().filter(|client| !own_clients.iter().any(|own| own.id == client.id));
    visible_to(own_clients.iter().chain(others), &*service.platform.entropy, &sign_in, caller)
}

/// The sign-in address of applications without a configured one: the provider's authorization endpoint.
async fn sign_in_address(service: &Identity) -> String {
    match &service.external {
        Some(external) => relying_party::authorization_endpoint(service, external).await,
        None => format!("{}/auth", service.settings.provider_issuer()),
    }
}

/// The catalogue's applications that admit the caller, by display name, then id. `sign_in`: where people sign in.
pub fn list(
    settings: &Settings,
    entropy: &dyn Entropy,
    sign_in: &str,
    caller: &Caller,
) -> Vec<ThirdPartyApplication> {
    visible_to(settings.provider.clients.iter(), entropy, sign_in, caller)
}

fn visible_to<'a>(
    clients: impl Iterator<Item = &'a Client>,
    entropy: &dyn Entropy,
    sign_in: &str,
    caller: &Caller,
) -> Vec<ThirdPartyApplication> {
    let Some(identity) = caller.identity() else { return Vec::new() };
    let clients = clients.filter(|client| !client.first_party);
    let mut visible: Vec<_> = clients
        .filter_map(|client| {
            let login_url = |client: &Client| login_url(sign_in, entropy, client);
            shown_to(identity, client, login_url)
        })
        .collect();
    visible.sort_by_cached_key(|application| (fold(&application.display_name), application.id.clone()));
    visible
}

fn shown_to(
    identity: &UserIdentity,
    client: &Client,
    login_url: impl Fn(&Client) -> String,
) -> Option<ThirdPartyApplication> {
    let application = &client.application;
    application.access_control.as_ref().filter(|control| oidc::names(control, identity))?;
    let name = application.name.clone().unwrap_or_else(|| client.id.clone());
    Some(ThirdPartyApplication {
        id: client.id.clone(),
        description: application.description.clone(),
        redirect_uris: client.redirect_uris.clone(),
        post_logout_redirect_uris: client.post_logout_redirect_uris.clone(),
        login_url: application.login_url.clone().unwrap_or_else(|| login_url(client)),
        info_url: application.info_url.clone(),
        display_name: application.display_name.clone().unwrap_or_else(|| name.clone()),
        logo_url: application.logo_url.clone(),
        dark_logo_url: application.dark_logo_url.clone(),
        name,
    })
}

/// An authorization request of the client at the provider; the client itself has to recognize its answer.
fn login_url(sign_in: &str, entropy: &dyn Entropy, client: &Client) -> String {
    let state = random_hex::<16>(entropy);
    let query = [
        ("client_id", client.id.as_str()),
        ("redirect_uri", client.redirect_uris.first().map_or("", String::as_str)),
        ("response_type", "code"),
        ("scope", client.application.scope.as_deref().unwrap_or(DEFAULT_SCOPE)),
        ("state", &state),
    ];
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    // An endpoint may have a query of its own (RFC 6749 §3.1).
    let joint = if sign_in.contains('?') { '&' } else { '?' };
    format!("{sign_in}{joint}{query}")
}
