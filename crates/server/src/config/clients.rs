//! OpenID clients by their id: `[identity.clients.<id>]`. The names of settings are fixed in advance, which those of a
//! map are not, so clients can only be set in the file.

use super::{Problem, value_types::COVERED};
use bailiwick_identity::oidc;
use bailiwick_settings::{AccessControl, Application, Client};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use toml::{Table, Value};

const ORIGIN: &str = "configuration file";

/// The text of the reference before the keys.
const ABOUT: &str = "A further client of the OpenID provider beside the default one, `bailiwick`; one table for \
    each, in the file only, for instance `[identity.clients.console]`.";

/// Keys of a client: name, type in the reference, default, meaning.
const KEYS: [(&str, &str, &str, &str); 13] = [
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
        "bool",
        "`true`",
        "Nobody is asked for consent and its tokens open sessions. When `false`, it is a third-party application: \
        `GET /third-party-applications` lists it and the provider signs in to it those whom `access_control` names, after \
        asking them what it may learn; its tokens open no session here.",
    ),
    ("name", "text", "the id", "Name of a third-party application."),
    ("description", "text", "–", "What a third-party application is for."),
    ("display_name", "text", "`name`", "Shown in the place of the name."),
    (
        "login_url",
        "URI",
        "a sign-in here",
        "Where a third-party application is opened. When unset, an authorization request at this provider for `scope` \
        with the first redirect address and a `state` of ours, for clients that accept one they did not ask for. Needed \
        for a public third-party client.",
    ),
    ("scope", "text", "`openid profile email`", "What that request asks for, words separated by spaces."),
    ("info_url", "URI", "–", "The page about a third-party application."),
    ("logo_url", "URI", "–", "Its logo on a light ground."),
    ("dark_logo_url", "URI", "–", "Its logo on a dark ground."),
    (
        "access_control",
        "table",
        "–",
        "Who sees a third-party application and may sign in to it: lists `organization_ids`, `organization_roles` and `user_roles` (names, in any \
        case), `user_role_ids` (keys; with them `user_roles` does not count). Every list that is not empty must match. \
        Without it nobody sees the application.",
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
    name: Option<String>,
    #[serde(default)]
    description: String,
    display_name: Option<String>,
    login_url: Option<String>,
    scope: Option<String>,
    info_url: Option<String>,
    logo_url: Option<String>,
    dark_logo_url: Option<String>,
    access_control: Option<AccessControl>,
}

const fn yes() -> bool {
    true
}

/// Removes the clients from a file, so that their ids are not read as settings.
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
            application: Application {
                name: written.name,
                description: written.description,
                display_name: written.display_name,
                login_url: written.login_url,
                scope: written.scope,
                info_url: written.info_url,
                logo_url: written.logo_url,
                dark_logo_url: written.dark_logo_url,
                access_control: written.access_control,
            },
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

/// The problems that the provider finds in the clients.
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
    let application = &client.application;
    let description = Some(&application.description).filter(|text| !text.is_empty());
    for (key, text) in [
        ("name", application.name.as_ref()),
        ("description", description),
        ("display_name", application.display_name.as_ref()),
        ("login_url", application.login_url.as_ref()),
        ("scope", application.scope.as_ref()),
        ("info_url", application.info_url.as_ref()),
        ("logo_url", application.logo_url.as_ref()),
        ("dark_logo_url", application.dark_logo_url.as_ref()),
    ] {
        if let Some(text) = text {
            line(key, text.clone().into());
        }
    }
    if let Some(control) = &application.access_control {
        for (key, list) in [
            ("access_control.organization_ids", &control.organization_ids),
            ("access_control.organization_roles", &control.organization_roles),
            ("access_control.user_roles", &control.user_roles),
            ("access_control.user_role_ids", &control.user_role_ids),
        ] {
            line(key, list.clone().into());
        }
    }
    out
}

/// The JSON schema of the map.
pub(super) fn schema() -> Json {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let mut client = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["redirect_uris"],
        "properties": {
            "redirect_uris": texts,
            "post_logout_redirect_uris": texts,
            "secret_sha256": { "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" },
            "first_party": { "type": "boolean", "default": true },
            "access_control": { "type": "object", "additionalProperties": false, "properties": {
                "organization_ids": texts, "organization_roles": texts, "user_roles": texts, "user_role_ids": texts,
            }},
        },
    });
    for (key, _, _, about) in KEYS {
        if client["properties"][key].is_null() {
            client["properties"][key] = json!({ "type": "string" });
        }
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
