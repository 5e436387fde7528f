//! The provider's two cookies: one binds waiting requests to a browser, one is its login.

use bailiwick_identity::{
    Identity,
    oidc::{INTERACTION, authorize::Browser},
};
use http::{HeaderMap, HeaderValue, header};
use std::time::Duration;

const BROWSER: &str = "bailiwick-browser";
const LOGIN: &str = "bailiwick-login";

/// On https, this prefix makes browsers refuse the cookie from any other host.
fn full_name(identity: &Identity, name: &str) -> String {
    if is_https(identity) { format!("__Host-{name}") } else { name.to_owned() }
}

fn is_https(identity: &Identity) -> bool {
    identity.settings.public_url.starts_with("https://")
}

/// Reads the cookies of the browser.
pub fn read(identity: &Identity, headers: &HeaderMap) -> Browser {
    let value = |name: &str| {
        let name = full_name(identity, name);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
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

fn set(identity: &Identity, headers: &mut HeaderMap, name: &str, value: &str, life: Duration) {
    let secure = if is_https(identity) { "; Secure" } else { "" };
    let name = full_name(identity, name);
    let line = format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", life.as_secs());
    // The service's own values are base64url, so always a valid header value.
    if let Ok(line) = HeaderValue::from_str(&line) {
        headers.append(header::SET_COOKIE, line);
    }
}
