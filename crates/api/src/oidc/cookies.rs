//! The provider's two cookies: one binds waiting requests to a browser, one is its login.

use bailiwick_identity::{
    Identity,
    oidc::{INTERACTION, authorize::Browser},
};
use bailiwick_web::{Cookie, cookie, set_cookie};
use http::HeaderMap;
use std::time::Duration;

const BROWSER: &str = "bailiwick-browser";
const LOGIN: &str = "bailiwick-login";

fn is_https(identity: &Identity) -> bool {
    identity.settings.public_url.starts_with("https://")
}

/// Reads the cookies of the browser.
pub fn read(identity: &Identity, headers: &HeaderMap) -> Browser {
    let value = |name| cookie(headers, name, is_https(identity));
    Browser { browser: value(BROWSER), login: value(LOGIN) }
}

/// Binds waiting requests to the browser.
pub fn set_browser(identity: &Identity, headers: &mut HeaderMap, value: &str) {
    set(identity, headers, BROWSER, value, INTERACTION);
}

/// The login of the browser.
pub fn set_login(identity: &Identity, headers: &mut HeaderMap, value: &str) {
    set(identity, headers, LOGIN, value, identity.settings.provider.login);
}

/// Makes the browser forget its login.
pub fn clear_login(identity: &Identity, headers: &mut HeaderMap) {
    set(identity, headers, LOGIN, "", Duration::ZERO);
}

// The service's own values are base64url, so always a valid header value.
fn set(identity: &Identity, headers: &mut HeaderMap, name: &str, value: &str, life: Duration) {
    set_cookie(headers, Cookie { name, value, life, is_https: is_https(identity) });
}
