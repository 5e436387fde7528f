//! The stylesheet and the scripts. Their names carry the hash of what they hold, so a browser may keep them for ever.

use aws_lc_rs::digest;
use axum::response::{IntoResponse, Response};
use bailiwick_domain::ports::hex;
use bailiwick_web::{PASSKEY_SCRIPT, PathText};
use http::{HeaderValue, StatusCode, header};
use std::{borrow::Cow, sync::LazyLock};

/// After what all pages share: a file for each subject, what differs on small screens last.
const STYLE: &str = concat!(
    include_str!("../assets/style/frame.css"),
    include_str!("../assets/style/states.css"),
    include_str!("../assets/style/lists.css"),
    include_str!("../assets/style/home.css"),
    include_str!("../assets/style/systems.css"),
    include_str!("../assets/style/applications.css"),
    include_str!("../assets/style/events.css"),
    include_str!("../assets/style/users.css"),
    include_str!("../assets/style/account.css"),
    include_str!("../assets/style/factors.css"),
    include_str!("../assets/style/organizations.css"),
    include_str!("../assets/style/imports.css"),
    include_str!("../assets/style/rebranding.css"),
    include_str!("../assets/style/alerts.css"),
    include_str!("../assets/style/notifications.css"),
    include_str!("../assets/style/small.css"),
);
const SCRIPT: &str = include_str!("../assets/console.js");
/// Speculation rules: the browser fetches these links when a person is about to follow them.
const PREFETCH: &str = include_str!("../assets/prefetch.json");

/// A file of the console.
struct Asset {
    name: String,
    media_type: &'static str,
    text: Cow<'static, str>,
}

static ALL: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    [
        asset("console", "css", "text/css; charset=utf-8", [bailiwick_web::STYLE, STYLE].concat()),
        asset("console", "js", "text/javascript; charset=utf-8", SCRIPT),
        asset("prefetch", "json", "application/speculationrules+json", PREFETCH),
        asset("passkey", "js", "text/javascript; charset=utf-8", PASSKEY_SCRIPT),
    ]
});

fn asset(stem: &str, extension: &str, media_type: &'static str, text: impl Into<Cow<'static, str>>) -> Asset {
    let text = text.into();
    let hash = hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    let short: String = hash.chars().take(16).collect();
    Asset { name: format!("{stem}.{short}.{extension}"), media_type, text }
}

/// Address of the stylesheet.
pub(crate) fn style() -> String {
    format!("/console/assets/{}", ALL[0].name)
}

/// Address of the script.
pub(crate) fn script() -> String {
    format!("/console/assets/{}", ALL[1].name)
}

/// The header that names the rules of fetching links beforehand.
pub(crate) fn prefetch() -> String {
    format!("\"/console/assets/{}\"", ALL[2].name)
}

/// Address of the script of pages that ask the browser for a passkey.
pub(crate) fn passkey_script() -> String {
    format!("/console/assets/{}", ALL[3].name)
}

/// A file.
pub(crate) async fn show(PathText(name): PathText) -> Response {
    let Some(asset) = ALL.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    (headers, asset.text.clone()).into_response()
}
