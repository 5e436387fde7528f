//! A form that was sent after its session had ended. Nothing of it is saved; its page gives the fields back, to be sent
//! again after the sign-in. It needs neither a script nor a place to keep the fields: they stay in the page.

use crate::{
    failure,
    form::{FORM_TIME, Form, MAX_FORM_BYTES},
    layout::Layout,
    page, texts,
};
use axum::{body::Body, response::Response};
use bailiwick_identity::impersonation::is_secret;
use bailiwick_web::read;
use http::{StatusCode, header, request::Parts};
use serde_json::{Value, json};
use url::form_urlencoded;

/// Fields of which only the program knows the meaning.
const INNER: [&str; 5] = ["seen", "find", "found", "search", "more"];
/// Names that look like those of secrets.
const PUBLIC: [&str; 2] = ["data_key", "system_key"];

/// The page. Passwords and other secrets are not in it: they have to be typed again. `before`: the page of the form;
/// `has_webhooks`: its addresses are secrets.
pub(crate) async fn page(
    layout: &Layout,
    parts: &Parts,
    body: Body,
    before: &str,
    has_webhooks: bool,
) -> Response {
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = content_type.is_some_and(|media| media.starts_with("application/x-www-form-urlencoded"));
    let form = match is_form {
        true => match read(body, MAX_FORM_BYTES, FORM_TIME).await {
            Ok(bytes) => Form::read(&bytes),
            Err(error) => return failure::answer(layout, &error),
        },
        // Browsers let nobody choose a file for a person.
        false => Form::default(),
    };
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("page", before).finish();
    let fields = fields(layout, &form, has_webhooks);
    let values = json!({
        "kind": "unsent",
        "action": parts.uri.path_and_query().map_or("", |path| path.as_str()),
        "sign_in": format!("/console/sign-in?{query}"),
        "has_fields": fields.iter().any(|field| field["is_shown"] == true),
        "fields": fields,
    });
    page::render(layout, StatusCode::UNAUTHORIZED, "session/unsent.html", values)
}

/// Each field: name, label, value, whether it has to be typed again, whether people see it.
fn fields(layout: &Layout, form: &Form, has_webhooks: bool) -> Vec<Value> {
    let mut key = String::new();
    let mut field = |(name, value): (String, String)| {
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_hidden = match &*name {
            // Free data: the key before it tells what the value is.
            "data_value" => is_secret(&key),
            public if PUBLIC.contains(&public) => false,
            _ => is_secret(last) || (has_webhooks && last == "url"),
        };
        if name == "data_key" {
            key.clone_from(&value);
        }
        let is_inner = INNER.contains(&&*name) || last == "rows";
        let is_shown = !is_inner && !value.is_empty();
        let label = ["label", "column", "field"]
            .iter()
            .find_map(|start| texts::find(layout.language, &format!("{start}_{last}")))
            .unwrap_or(last);
        json!({
            "name": name, "label": label, "is_shown": is_shown, "is_hidden": is_hidden && is_shown,
            "value": if is_hidden { "" } else { value.as_str() },
        })
    };
    form.pairs_after("").map(&mut field).collect()
}
