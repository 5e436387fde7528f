//! OpenID clients by their id: `[identity.clients.<id>]`. A map has no place among the settings, whose names are known
//! beforehand, so it comes from the file only.

use super::{Problem, kinds::COVERED};
use bailiwick_app::{oidc, settings::Client};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use toml::{Table, Value};

const ORIGIN: &str = "configuration file";

/// What the reference tells before the keys.
const ABOUT: &str = "A further client of the embedded OpenID provider beside the default one, `bailiwick`; one table for \
    each, in the file only, for instance `[identity.clients.console]`.";

/// Keys of a client: name, type in the reference, default, meaning.
const KEYS: [(&str, &str, &str, &str); 4] = [
    (
        "redirect_uris",
        "list of URI",
        "–",
        "Redirect addresses, compared character by character; at least one.",
    ),
    (
        "post_logout_redirect_uris",
        "list of URI",
        "–",
        "Addresses to which it may send a browser after sign-out.",
    ),
    (
        "secret_sha256",
        "64 hex digits",
        "–",
        "SHA-256 of the secret of a confidential client. When unset, the client is public and must use PKCE.",
    ),
    (
        "first_party",
        "`true`",
        "`true`",
        "Nobody is asked for consent and its tokens open sessions. Clients of third parties are not supported yet.",
    ),
];

/// A client as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    redirect_uris: Vec<String>,
    #[serde(default)]
    post_logout_redirect_uris: Vec<String>,
    secret_sha256: Option<String>,
    #[serde(default = "yes")]
    first_party: bool,
}

const fn yes() -> bool {
    true
}

/// Takes the clients out of a file, so that nobody takes their ids for settings.
pub(super) fn take(file: &mut Table, problems: &mut Vec<Problem>) -> Vec<Client> {
    let identity = file.get_mut("identity").and_then(Value::as_table_mut);
    match identity.and_then(|identity| identity.remove("clients")) {
        None => Vec::new(),
        Some(Value::Table(clients)) => {
            clients.into_iter().filter_map(|(id, value)| read(id, value, problems)).collect()
        }
        Some(_) => {
            problems.push(Problem::new("identity.clients", ORIGIN, "must be tables"));
            Vec::new()
        }
    }
}

fn read(id: String, value: Value, problems: &mut Vec<Problem>) -> Option<Client> {
    match value.try_into::<Written>() {
        Ok(written) => Some(Client {
            id,
            secret_sha256: written.secret_sha256,
            redirect_uris: written.redirect_uris,
            post_logout_redirect_uris: written.post_logout_redirect_uris,
            first_party: written.first_party,
        }),
        Err(why) => {
            problems.push(Problem::new(&name(&id), ORIGIN, format!("cannot be read: {}", why.message())));
            None
        }
    }
}

fn name(id: &str) -> String {
    format!("identity.clients.{id}")
}

/// What the provider has against the clients.
pub(super) fn problems(clients: &[Client]) -> impl Iterator<Item = Problem> {
    let found = oidc::clients::problems(clients);
    found.into_iter().map(|(id, message)| Problem::new(&name(id), ORIGIN, message))
}

/// The table of a client in the configuration in force.
pub(super) fn effective(client: &Client) -> String {
    let mut out = format!("\n[identity.clients.{}]\n", Value::from(client.id.as_str()));
    let mut line = |key, value: Value| {
        let _ = writeln!(out, "{key} = {value} # {ORIGIN}");
    };
    line("redirect_uris", client.redirect_uris.clone().into());
    line("post_logout_redirect_uris", client.post_logout_redirect_uris.clone().into());
    if client.secret_sha256.is_some() {
        line("secret_sha256", COVERED.into());
    }
    line("first_party", client.first_party.into());
    out
}

/// The JSON schema of the map.
pub(super) fn schema() -> Json {
    let uris = json!({ "type": "array", "items": { "type": "string" } });
    let mut client = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["redirect_uris"],
        "properties": {
            "redirect_uris": uris,
            "post_logout_redirect_uris": uris,
            "secret_sha256": { "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" },
            "first_party": { "const": true, "default": true },
        },
    });
    for (key, _, _, about) in KEYS {
        client["properties"][key]["description"] = about.into();
    }
    client["properties"]["redirect_uris"]["minItems"] = 1.into();
    json!({ "type": "object", "description": ABOUT, "additionalProperties": client })
}

/// Its section of the reference.
pub(super) fn reference() -> String {
    let mut out = format!(
        "\n## `[identity.clients.<id>]`\n\n{ABOUT}\n\n| Setting | Type | Default | Meaning |\n|---|---|---|---|\n"
    );
    for (key, kind, default, about) in KEYS {
        let _ = writeln!(out, "| `{key}` | {kind} | {default} | {about} |");
    }
    out
}
