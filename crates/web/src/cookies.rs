//! Cookies of our own.

use http::{HeaderMap, HeaderValue, header};
use std::time::Duration;

/// A cookie that is set.
#[derive(Clone, Copy, Debug)]
pub struct Cookie<'a> {
    /// Without prefix.
    pub name: &'a str,
    /// Characters that need no escaping.
    pub value: &'a str,
    /// Zero = the browser forgets it.
    pub life: Duration,
    /// Whether the public address is https.
    pub is_https: bool,
}

/// On https, this prefix makes browsers refuse the cookie from any other host.
fn full_name(name: &str, is_https: bool) -> String {
    if is_https { format!("__Host-{name}") } else { name.to_owned() }
}

/// The value of a cookie that the browser has sent.
pub fn cookie(headers: &HeaderMap, name: &str, is_https: bool) -> Option<String> {
    let name = full_name(name, is_https);
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// Adds it to an answer: for this host only, and never for scripts.
pub fn set_cookie(headers: &mut HeaderMap, cookie: Cookie<'_>) {
    let Cookie { name, value, life, is_https } = cookie;
    let secure = if is_https { "; Secure" } else { "" };
    let name = full_name(name, is_https);
    let line = format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", life.as_secs());
    if let Ok(line) = HeaderValue::from_str(&line) {
        headers.append(header::SET_COOKIE, line);
    }
}
