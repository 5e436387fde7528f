//! Roles of the catalogue and of organizations at the tenant, matched by name (spec: logto#calls).

use super::LogtoSync;
use crate::Identity;
use bailiwick_domain::{Ts, fold::fold};
use bailiwick_outbound::logto::{LogtoError, Named};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// How long the names count.
const LIFE: Duration = Duration::from_secs(300);
/// The shortest time between two fetches for a missing name.
const PAUSE: Duration = Duration::from_secs(10);

/// Ids by folded name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// User roles.
    pub user: HashMap<String, String>,
    /// Organization roles.
    pub organization: HashMap<String, String>,
}

impl Names {
    /// The id of a user role.
    pub(super) fn user_role(&self, name: &str) -> Option<&String> {
        self.user.get(&fold(name))
    }

    /// The id of an organization role.
    pub(super) fn organization_role(&self, name: &str) -> Option<&String> {
        self.organization.get(&fold(name))
    }
}

/// The names as last fetched.
#[derive(Default)]
pub(super) struct RoleCache(Mutex<Option<(Ts, Arc<Names>)>>);

fn by_name(all: Vec<Named>) -> HashMap<String, String> {
    all.into_iter().map(|role| (fold(&role.name), role.id)).collect()
}

/// The names. They are fetched again when they are old, or when they are older than the pause and lack a name that
/// `needs` requires.
pub(super) async fn load(
    service: &Identity,
    logto: &LogtoSync,
    needs: impl Fn(&Names) -> bool + Send,
) -> Result<Arc<Names>, LogtoError> {
    // Locked during the fetch: one fetch serves all waiting tasks.
    let mut cached = logto.names.0.lock().await;
    let now = service.platform.now();
    if let Some((at, names)) = cached.as_ref() {
        let age = now.since(*at);
        if now >= *at && age < LIFE && (needs(names) || age < PAUSE) {
            return Ok(names.clone());
        }
    }
    let user = by_name(logto.client.roles().await?);
    let organization = by_name(logto.client.organization_roles().await?);
    let names = Arc::new(Names { user, organization });
    *cached = Some((now, names.clone()));
    Ok(names)
}

/// The names after the tenant has refused one of the known ones (`error`): a role that was removed there and created
/// again has another id. Returns `error` itself where the names are unchanged.
pub(super) async fn anew(
    service: &Identity,
    logto: &LogtoSync,
    used: &Arc<Names>,
    error: LogtoError,
) -> Result<Arc<Names>, LogtoError> {
    if !matches!(error, LogtoError::Missing | LogtoError::Refused(_)) {
        return Err(error);
    }
    // Unless another task has fetched them meanwhile.
    logto.names.0.lock().await.take_if(|(_, names)| Arc::ptr_eq(names, used));
    let names = load(service, logto, |_| true).await?;
    if *names == **used { Err(error) } else { Ok(names) }
}
