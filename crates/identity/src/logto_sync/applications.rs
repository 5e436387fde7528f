//! Third-party applications that the tenant knows (spec: openid-provider#third-party-applications). They are fetched
//! when a request needs the list and it is five minutes old. While the tenant is unavailable, the last good list stays
//! in use.

use super::{LogtoSync, names};
use crate::Identity;
use bailiwick_domain::{Ts, fold::fold};
use bailiwick_outbound::logto::{self as provider, LogtoError};
use bailiwick_settings::{AccessControl, Application, Client};
use bailiwick_store::logto;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// How long a list counts.
const LIFE: Duration = Duration::from_secs(300);
/// How long requests do not fetch again after a failure.
const PAUSE: Duration = Duration::from_secs(30);
/// How long a request waits for a newer list.
const GLANCE: Duration = Duration::from_secs(2);
/// How long a request waits for the first list.
const FIRST: Duration = Duration::from_secs(10);
/// Time for fetching a list.
const FETCH: Duration = Duration::from_secs(60);
/// Applications of third parties that are shown.
const MOST: usize = 500;
/// How many applications are fetched at the same time.
const AT_ONCE: usize = 8;

/// The answer of the tenant.
#[derive(Debug, Default)]
pub struct Applications {
    /// The third-party applications in the form of the catalogue, with the service's ids.
    pub(crate) clients: Vec<Client>,
    /// Where people sign in to them, when the custom domain is active.
    pub(crate) sign_in: Option<String>,
}

#[derive(Default)]
struct State {
    list: Option<(Ts, Arc<Applications>)>,
    failed_at: Option<Ts>,
}

/// The list as last fetched.
#[derive(Default)]
pub(super) struct ApplicationCache {
    state: Mutex<State>,
    fetch_lock: Arc<Turn<()>>,
}

impl ApplicationCache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list, and whether it is recent enough without a fetch.
    fn present(&self, now: Ts) -> (Option<Arc<Applications>>, bool) {
        let state = self.state();
        // A clock that was set back extends no lifetime.
        let is_within = |at: Ts, life| now >= at && now.since(at) < life;
        let is_fresh = state.list.as_ref().is_some_and(|(at, _)| is_within(*at, LIFE));
        let has_failed = state.failed_at.is_some_and(|at| is_within(at, PAUSE));
        (state.list.as_ref().map(|(_, list)| list.clone()), is_fresh || has_failed)
    }
}

/// The applications; none outside mode `logto`, and before the first successful fetch.
pub async fn applications(service: &Identity) -> Option<Arc<Applications>> {
    let memory = &service.logto.as_ref()?.applications;
    let (list, is_enough) = memory.present(service.platform.now());
    if is_enough {
        return list;
    }
    let patience = if list.is_some() { GLANCE } else { FIRST };
    let waiting = async {
        match memory.fetch_lock.clone().try_lock_owned() {
            // The fetch continues in its own task, so the next request finds its result.
            Ok(fetch_lock) => {
                let worker = service.clone();
                let _ = service.platform.tasks.spawn(async move { refresh(&worker, fetch_lock).await }).await;
            }
            Err(_) => drop(memory.fetch_lock.lock().await),
        }
    };
    let _ = tokio::time::timeout(patience, waiting).await;
    memory.present(service.platform.now()).0
}

async fn refresh(service: &Identity, _guard: OwnedMutexGuard<()>) {
    let Some(logto) = &service.logto else { return };
    let fetched =
        service.platform.stop.run_until_cancelled(tokio::time::timeout(FETCH, fetch(service, logto))).await;
    let why = match fetched {
        None => return,
        Some(Ok(Ok(list))) => {
            let mut state = logto.applications.state();
            state.list = Some((service.platform.now(), Arc::new(list)));
            state.failed_at = None;
            return;
        }
        Some(Ok(Err(error))) => error,
        Some(Err(_)) => "it takes too long".to_owned(),
    };
    tracing::warn!(error = why, "third-party applications cannot be read; the last list stays in use");
    logto.applications.state().failed_at = Some(service.platform.now());
}

async fn fetch(service: &Identity, logto: &LogtoSync) -> Result<Applications, String> {
    let text = |error: LogtoError| error.to_string();
    let client = &logto.client;
    let all = client.applications().await.map_err(text)?;
    let foreign = all.into_iter().filter(|application| application.is_third_party).take(MOST);
    let clients: Vec<Client> = stream::iter(foreign)
        .map(|application| async move {
            let experience = client.sign_in_experience(&application.id).await?;
            let scopes = client.consent_scopes(&application.id).await?;
            Ok::<_, LogtoError>(registered(application, experience.unwrap_or_default(), scopes))
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await
        .map_err(text)?;
    let sign_in = match &logto.settings.domain {
        Some(domain) => {
            let domains = client.domains().await.map_err(text)?;
            let is_active = domains.iter().any(|d| d.domain == *domain && d.status == "Active");
            is_active.then(|| format!("https://{domain}/oidc/auth"))
        }
        None => None,
    };
    let clients = translated(service, logto, clients).await?;
    Ok(Applications { clients, sign_in })
}

/// The data an application has beside the provider's own fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Custom {
    access_control: Option<Access>,
    login_url: Option<String>,
    info_url: Option<String>,
    description: Option<String>,
    scopes: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Access {
    organization_ids: Vec<String>,
    organization_roles: Vec<String>,
    user_roles: Vec<String>,
    user_role_ids: Vec<String>,
}

/// An address that a browser can open, if it is one.
fn address(text: Option<String>) -> Option<String> {
    let is_web =
        |text: &String| url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    text.filter(is_web)
}

/// The client as the catalogue would configure it. An application with unreadable `customData` stays invisible.
fn registered(
    application: provider::Application,
    experience: provider::SignInExperience,
    scopes: Option<provider::ConsentScopes>,
) -> Client {
    let custom: Custom = serde_json::from_value(application.custom_data).unwrap_or_default();
    let branding = experience.branding.unwrap_or_default();
    let allowed = if custom.scopes.is_empty() {
        scopes.map(|scopes| scopes.user_scopes).unwrap_or_default()
    } else {
        custom.scopes
    };
    let scope = (!allowed.is_empty()).then(|| {
        let others = allowed.iter().map(String::as_str).filter(|scope| *scope != "openid");
        std::iter::once("openid").chain(others).collect::<Vec<_>>().join(" ")
    });
    let access_control = custom.access_control.map(|access| AccessControl {
        organization_ids: access.organization_ids,
        organization_roles: access.organization_roles,
        user_roles: access.user_roles,
        user_role_ids: access.user_role_ids,
    });
    Client {
        id: application.id,
        secret_sha256: None,
        redirect_uris: application.oidc_client_metadata.redirect_uris,
        post_logout_redirect_uris: application.oidc_client_metadata.post_logout_redirect_uris,
        first_party: false,
        application: Application {
            name: Some(application.name).filter(|name| !name.is_empty()),
            description: custom.description.or(application.description).unwrap_or_default(),
            login_url: address(custom.login_url),
            info_url: address(custom.info_url),
            display_name: experience.display_name.filter(|name| !name.is_empty()),
            logo_url: address(branding.logo_url),
            dark_logo_url: address(branding.dark_logo_url),
            scope,
            access_control,
        },
    }
}

/// Replaces the tenant's ids by ids of the service (spec: openid-provider#third-party-applications).
async fn translated(
    service: &Identity,
    logto: &LogtoSync,
    mut clients: Vec<Client>,
) -> Result<Vec<Client>, String> {
    let controls = || clients.iter().filter_map(|client| client.application.access_control.as_ref());
    let provider_ids: Vec<String> = controls().flat_map(|control| control.organization_ids.clone()).collect();
    let mut organizations = std::collections::HashMap::new();
    for portion in provider_ids.chunks(500) {
        let local_ids = logto::organizations_of(&service.platform.db, logto.issuer(), portion).await;
        organizations.extend(local_ids.map_err(|e| e.to_string())?);
    }
    let names_roles = controls().any(|control| !control.user_role_ids.is_empty());
    let roles = match names_roles {
        true => Some(names::load(service, logto, |_| true).await.map_err(|e| e.to_string())?),
        false => None,
    };
    let role = |id: &String| {
        let (name, _) = roles.as_ref()?.user.iter().find(|(_, provider_id)| *provider_id == id)?;
        let roles = service.platform.catalogue.user_roles();
        let local_role = roles.iter().find(|role| fold(&role.name) == *name);
        local_role.map(|role| role.key.clone())
    };
    for client in &mut clients {
        let Some(control) = &mut client.application.access_control else { continue };
        for id in &mut control.organization_ids {
            if let Some(local_id) = organizations.get(id) {
                *id = local_id.to_string();
            }
        }
        for id in &mut control.user_role_ids {
            if let Some(key) = role(id) {
                *id = key;
            }
        }
    }
    Ok(clients)
}

/// Whether a client is a third-party application there.
pub async fn is_third_party(service: &Identity, client_id: &str) -> bool {
    let list = applications(service).await;
    list.is_some_and(|list| list.clients.iter().any(|client| client.id == client_id))
}
