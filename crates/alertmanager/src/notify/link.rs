//! The link of an alert in a message (spec: alert-delivery#generated-configuration), for the service itself and for the
//! templates of remote routers.

use super::Taken;
use bailiwick_domain::Pages;

/// A piece of a link.
#[derive(Clone, Copy)]
enum Piece {
    /// The address of the interface.
    Base,
    Text(&'static str),
    /// The value of a label.
    Label(&'static str),
    Fingerprint,
}

use Piece::{Base, Fingerprint, Label, Text};

/// The alert. Once the service no longer knows it, its page leads on to the system's.
const IN_CONSOLE: &[Piece] = &[
    Base,
    Text("/console/alerts/"),
    Label("organization_id"),
    Text("/"),
    Fingerprint,
    Text("?system="),
    Label("system_id"),
];
/// The system.
const ELSEWHERE: &[Piece] = &[Base, Text("/systems/"), Label("system_id")];

const fn pieces(pages: &Pages) -> &'static [Piece] {
    match pages {
        Pages::Console(_) => IN_CONSOLE,
        Pages::Other(_) => ELSEWHERE,
    }
}

/// The key of the words of the link.
pub(crate) const fn word_key(pages: &Pages) -> &'static str {
    match pages {
        Pages::Console(_) => "open_alert",
        Pages::Other(_) => "open",
    }
}

/// The link; none for an alert that names no system.
pub(crate) fn of(pages: &Pages, taken: &Taken) -> Option<String> {
    let labels = &taken.alert.labels;
    labels.get("system_id").filter(|id| !id.is_empty())?;
    let piece = |piece: &Piece| match piece {
        Base => pages.base().to_owned(),
        Text(text) => (*text).to_owned(),
        Label(name) => encoded(labels.value(name)),
        Fingerprint => taken.fingerprint.to_string(),
    };
    Some(pieces(pages).iter().map(piece).collect())
}

/// The link in the template language. `base`: the address as a constant of that language; `shown`: writes the value of
/// an expression.
pub(crate) fn template(pages: &Pages, base: &str, shown: impl Fn(&str) -> String) -> String {
    let piece = |piece: &Piece| match piece {
        Base => shown(base),
        Text(text) => (*text).to_owned(),
        Label(name) => shown(&format!(".Labels.{name}")),
        Fingerprint => shown(".Fingerprint"),
    };
    pieces(pages).iter().map(piece).collect()
}

/// A part of a path, whatever is in it.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
