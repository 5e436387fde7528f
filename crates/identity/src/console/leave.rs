//! Signing out of the console.

use super::BrowserSession;
use crate::{
    Identity,
    auth::{Reason, revoke_chain, revoke_login_chains, unreadable},
};
use bailiwick_domain::Result;
use bailiwick_store::{console_sessions, identities, oidc::logins, sessions};

/// Ends the session's chain and the login at the embedded provider that it came from, with every other chain from that
/// login: who signs out here is signed out.
///
/// # Errors
/// 503 when it cannot be written: then nothing has ended.
pub async fn leave(service: &Identity, browser: &BrowserSession) -> Result<()> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    // Locks in the order user, login, chain, as everywhere.
    if let Some(user) = browser.own.user_id() {
        identities::get_steady(&mut tx, user).await.map_err(unreadable)?;
    }
    if let Some(login) = browser.login {
        logins::end(&mut tx, login, now).await.map_err(unreadable)?;
        revoke_login_chains(&mut tx, now, login).await?;
    }
    sessions::lock(&mut tx, browser.chain).await.map_err(unreadable)?;
    revoke_chain(&mut tx, now, browser.chain, Reason::Logout).await.map_err(unreadable)?;
    console_sessions::remove(&mut tx, &browser.hash).await.map_err(unreadable)?;
    tx.commit().await.map_err(unreadable)
}
