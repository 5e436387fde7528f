//! The list of spec: logto#calls.

use super::{super::recorder::Recorded, APP, Tenant};
use serde_json::Value;

/// The problem of a request.
pub(super) enum Wrong {
    /// An expired token, which gets an answer of its own and does not fail the test.
    Unauthorized,
    /// Not in the list.
    Outside(String),
}

/// The query or body of a call.
#[derive(Clone, Copy)]
enum Sent {
    /// Nothing.
    Nothing,
    /// A page.
    Page,
    /// A page of search results; after a lost answer only.
    Search(&'static [&'static str]),
    /// JSON with these keys; those with `?` may be left out.
    Body(&'static [&'static str]),
}
use Sent::{Body, Nothing, Page, Search};

const CALLS: &[(&str, &str, Sent)] = &[
    ("POST", "users", Body(&["username", "password", "name", "primaryEmail", "primaryPhone?", "customData"])),
    ("GET", "users/*", Nothing),
    (
        "PATCH",
        "users/*",
        Body(&["username?", "name?", "primaryEmail?", "primaryPhone?", "avatar?", "customData?"]),
    ),
    ("DELETE", "users/*", Nothing),
    ("PATCH", "users/*/password", Body(&["password"])),
    ("POST", "users/*/password/verify", Body(&["password"])),
    ("PATCH", "users/*/is-suspended", Body(&["isSuspended"])),
    ("GET", "users/*/roles", Page),
    ("POST", "users/*/roles", Body(&["roleIds"])),
    ("DELETE", "users/*/roles/*", Nothing),
    ("GET", "users/*/organizations", Page),
    ("GET", "roles", Page),
    ("GET", "roles/*/scopes", Page),
    ("GET", "organization-roles", Page),
    ("GET", "organization-roles/*/scopes", Page),
    ("POST", "organizations", Body(&["name", "description?", "customData"])),
    ("GET", "organizations/*", Nothing),
    ("PATCH", "organizations/*", Body(&["name?", "description?", "customData?"])),
    ("DELETE", "organizations/*", Nothing),
    ("POST", "organizations/*/users", Body(&["userIds"])),
    ("DELETE", "organizations/*/users/*", Nothing),
    ("GET", "organizations/*/users/*/roles", Page),
    ("POST", "organizations/*/users/*/roles", Body(&["organizationRoleIds"])),
    ("DELETE", "organizations/*/users/*/roles/*", Nothing),
    ("POST", "organizations/*/jit/roles", Body(&["organizationRoleIds"])),
    ("DELETE", "organizations/*/jit/roles/*", Nothing),
    ("GET", "applications", Page),
    ("GET", "applications/*/sign-in-experience", Nothing),
    ("GET", "applications/*/user-consent-scopes", Nothing),
    ("GET", "domains", Page),
    // Beyond the list: these find the object of a creation whose answer was lost.
    ("GET", "users", Search(&["search.username", "mode.username"])),
    ("GET", "organizations", Search(&["q"])),
];

fn outside<T>(why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Outside(why.into()))
}

/// Holds a request against the list.
pub(super) fn check(tenant: &Tenant, request: &Recorded) -> Result<(), Wrong> {
    if let Some(path) = request.path.strip_prefix("/oidc/") {
        return oidc(request, path);
    }
    let Some(path) = request.path.strip_prefix("/api/") else { return outside("no such base") };
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |pattern: &str| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        pattern.len() == parts.len()
            && pattern.iter().zip(&parts).all(|(wanted, part)| match *wanted {
                "*" => !part.is_empty(),
                word => word == *part,
            })
    };
    let call = CALLS.iter().find(|(method, pattern, _)| *method == request.method && fits(pattern));
    let Some((_, _, sent)) = call else { return outside("no such call") };
    query(tenant, request, *sent)?;
    body(request, *sent)?;
    bearer(tenant, request)
}

fn oidc(request: &Recorded, path: &str) -> Result<(), Wrong> {
    let fits = matches!(
        (request.method.as_str(), path),
        ("GET", ".well-known/openid-configuration" | "jwks" | "me")
            | ("POST", "token" | "token/introspection")
    );
    if !fits || request.query.is_some() {
        return outside("no such call of the issuer");
    }
    if path == "token" {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let base = request.value("host").map(|host| format!("http://{host}/api")).unwrap_or_default();
        let wanted = [
            ("grant_type", "client_credentials"),
            ("client_id", APP.0),
            ("client_secret", APP.1),
            ("resource", base.as_str()),
            ("scope", "all"),
        ];
        let same = wanted.iter().all(|(key, text)| form.iter().any(|(k, t)| k == key && t == text));
        let is_form = request.value("content-type") == Some("application/x-www-form-urlencoded");
        if !same || form.len() != wanted.len() || !is_form {
            return outside("another form of the token request");
        }
    }
    Ok(())
}

fn query(tenant: &Tenant, request: &Recorded, sent: Sent) -> Result<(), Wrong> {
    let pairs: Vec<(String, String)> = request
        .query
        .iter()
        .flat_map(|query| url::form_urlencoded::parse(query.as_bytes()).into_owned())
        .collect();
    let is_number = |text: &str| text.parse::<u32>().is_ok_and(|page| page > 0);
    let (keys, searched): (Vec<&str>, &[&str]) = match sent {
        Nothing | Body(_) => (Vec::new(), &[]),
        Page => (vec!["page", "page_size"], &[]),
        Search(keys) => (keys.iter().copied().chain(["page", "page_size"]).collect(), keys),
    };
    if pairs.len() != keys.len() || !pairs.iter().all(|(key, _)| keys.contains(&key.as_str())) {
        return outside("another query");
    }
    let wrong_page = pairs.iter().any(|(key, text)| match key.as_str() {
        "page" => !is_number(text),
        "page_size" => text != "100",
        _ => false,
    });
    if wrong_page {
        return outside("pages are asked for by `page` and `page_size=100`");
    }
    if !searched.is_empty() && !tenant.has_lost_an_answer {
        return outside("a search although no answer was lost");
    }
    Ok(())
}

fn body(request: &Recorded, sent: Sent) -> Result<(), Wrong> {
    let Body(keys) = sent else {
        return if request.body.is_empty() { Ok(()) } else { outside("a body") };
    };
    if request.value("content-type") != Some("application/json") {
        return outside("another content type");
    }
    let Ok(Value::Object(body)) = request.json() else { return outside("no JSON object") };
    let is_known = |key: &&String| keys.iter().any(|wanted| wanted.trim_end_matches('?') == key.as_str());
    if let Some(key) = body.keys().find(|key| !is_known(key)) {
        return outside(format!("an unknown key {key}"));
    }
    if let Some(key) = keys.iter().find(|key| !key.ends_with('?') && !body.contains_key(**key)) {
        return outside(format!("without {key}"));
    }
    let odd = body.iter().find(|(key, value)| match key.as_str() {
        "customData" => !value.is_object(),
        "isSuspended" => !value.is_boolean(),
        "roleIds" | "userIds" | "organizationRoleIds" => {
            !value.as_array().is_some_and(|ids| !ids.is_empty() && ids.iter().all(Value::is_string))
        }
        _ => !value.is_string(),
    });
    match odd {
        Some((key, _)) => outside(format!("{key} is of another type")),
        None if body.is_empty() => outside("an empty object"),
        None => Ok(()),
    }
}

fn bearer(tenant: &Tenant, request: &Recorded) -> Result<(), Wrong> {
    let all = request.values("authorization");
    let [one] = all.as_slice() else { return outside("no bearer, or several") };
    match one.strip_prefix("Bearer ") {
        Some(token) if tenant.good_tokens.contains(token) => Ok(()),
        Some(token) if tenant.old_tokens.contains(token) => Err(Wrong::Unauthorized),
        _ => outside("a bearer nobody has given out"),
    }
}
