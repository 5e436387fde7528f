//! Sessions of the console: a browser signs in at the provider, and from then on its cookie names a session chain. No
//! token ever reaches the browser.
//!
//! [`entry`] leads to the provider and back; [`browser_session()`] says whose a request is; [`leave()`] signs out. A
//! cookie is 256 random bits, stored as their SHA-256. What ends the chain ends the session with it, for the very next
//! request of every process.

mod acting;
mod browser_session;
mod entry;
mod leave;

pub use acting::{Open, go_back, go_on, open};
pub use browser_session::{Acting, BrowserSession, browser_session, present};
pub use entry::{CallbackError, CompletedSignIn, ENTRY_LIFE, SignInRedirect, begin, complete, is_available};
pub use leave::leave;

use crate::{Identity, auth::unreadable};
use bailiwick_domain::{ChainId, Result};
use bailiwick_platform::keys::{fresh_secret, token_digest};
use bailiwick_store::{Tx, console_sessions};

/// Characters of a cookie: 256 bits in base64url.
const COOKIE_CHARS: usize = 43;

/// The hash of a cookie that can be one of ours.
fn digest_of(cookie: &str) -> Option<Vec<u8>> {
    let is_ours = cookie.len() == COOKIE_CHARS
        && cookie.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    is_ours.then(|| token_digest(cookie))
}

/// Signs a browser in with a chain; the cookie it gets.
async fn sign_in(service: &Identity, tx: &mut Tx, chain: ChainId) -> Result<String> {
    let cookie = fresh_secret(&*service.platform.entropy);
    let hash = token_digest(&cookie);
    console_sessions::insert(tx, &hash, chain, service.platform.now()).await.map_err(unreadable)?;
    Ok(cookie)
}
