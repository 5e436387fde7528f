//! Rendering: templates and texts are files in `templates/`, built into the program. A name that a template does not
//! know is an error, never an empty place.

use crate::{filters, layout::Layout, texts};
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use minijinja::{Environment, UndefinedBehavior, context, value::Serde};
use serde_json::Value;
use std::sync::LazyLock;

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../templates/", $name)))),+]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "layout.html",
    "error.html",
    "parts/chart.html",
    "parts/form.html",
    "parts/macros.html",
    "parts/question.html",
    "session/message.html",
    "session/unsent.html",
    "home/show.html",
    "home/first_steps.html",
    "imports/parts.html",
    "imports/file.html",
    "imports/check.html",
    "imports/result.html",
    "imports/progress.html",
    "imports/outcome.html",
    "rebranding/list.html",
    "rebranding/tab.html",
    "organizations/parts.html",
    "organizations/tree.html",
    "organizations/list.html",
    "organizations/overview.html",
    "organizations/tab.html",
    "organizations/form.html",
    "organizations/second_factor.html",
    "systems/list.html",
    "systems/head.html",
    "systems/overview.html",
    "systems/changes.html",
    "systems/document.html",
    "systems/applications.html",
    "systems/alerts.html",
    "systems/access.html",
    "systems/backups.html",
    "systems/form.html",
    "systems/secret.html",
    "alerts/head.html",
    "alerts/list.html",
    "alerts/detail.html",
    "alerts/silence.html",
    "alerts/silence_preview.html",
    "alerts/silences.html",
    "alerts/one_silence.html",
    "alerts/history.html",
    "alerts/figures.html",
    "alerts/recipients.html",
    "notifications/channels.html",
    "notifications/show.html",
    "notifications/edit.html",
    "notifications/saved.html",
    "notifications/who.html",
    "applications/parts.html",
    "applications/list.html",
    "applications/summary.html",
    "applications/detail.html",
    "applications/notes.html",
    "applications/assign.html",
    "events/parts.html",
    "events/timeline.html",
    "events/webhooks.html",
    "events/webhook.html",
    "events/webhook_form.html",
    "events/secret.html",
    "events/audit.html",
    "search/show.html",
    "users/list.html",
    "users/head.html",
    "users/overview.html",
    "users/form.html",
    "users/move.html",
    "users/password.html",
    "users/password_made.html",
    "account/head.html",
    "account/profile.html",
    "account/keys.html",
    "account/key_made.html",
    "account/sessions.html",
    "account/factors.html",
    "account/new_passkey.html",
    "account/rename_passkey.html",
    "account/new_authenticator.html",
    "account/recovery_codes.html",
    "account/impersonation.html",
    "account/acted.html",
];

/// The mark of a field that is wrong. Texts of people never hold it, because their quotes are escaped.
const WRONG_FIELD: &str = " aria-invalid=\"true\"";

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut all = Environment::new();
    all.set_undefined_behavior(UndefinedBehavior::Strict);
    filters::add(&mut all);
    for (name, text) in SOURCES {
        if let Err(error) = all.add_template(name, text) {
            tracing::error!(%error, name, "a template of the console cannot be read");
        }
    }
    all
});

/// A page. `values`: an object with what the template names besides `t`, `lang` and `layout`.
///
/// A form that was refused opens with the focus in the first field that is wrong.
pub(crate) fn render(layout: &Layout, status: StatusCode, template: &str, values: Value) -> Response {
    let mut html = text(layout, template, values);
    if status == StatusCode::UNPROCESSABLE_ENTITY {
        html = html.map(|html| html.replacen(WRONG_FIELD, &format!("{WRONG_FIELD} autofocus"), 1));
    }
    match html {
        Some(html) => (status, Html(html)).into_response(),
        None => (StatusCode::INTERNAL_SERVER_ERROR, [(header::RETRY_AFTER, "5")]).into_response(),
    }
}

/// The text of a page or of a part of one; none if it cannot be rendered, which is logged.
pub(crate) fn text(layout: &Layout, template: &str, values: Value) -> Option<String> {
    let values = context! {
        lang => layout.language.code(),
        t => texts::for_templates(layout.language),
        layout => minijinja::Value::from(Serde(layout)),
        ..minijinja::Value::from(Serde(values))
    };
    let html = TEMPLATES.get_template(template).and_then(|page| page.render(values));
    html.inspect_err(|error| tracing::error!(%error, template, "a page cannot be rendered")).ok()
}

/// 200.
pub(crate) fn show(layout: &Layout, template: &str, values: Value) -> Response {
    render(layout, StatusCode::OK, template, values)
}

/// 303 to a page of the console; the address is one of ours.
pub(crate) fn see_other(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;
    use bailiwick_web::Language;

    #[test]
    fn every_template_is_read_and_every_text_it_names_exists() {
        for (name, source) in SOURCES {
            assert!(TEMPLATES.get_template(name).is_ok(), "{name}: {:?}", TEMPLATES.get_template(name).err());
            for (at, _) in source.match_indices("t.") {
                let before = source[..at].chars().next_back().unwrap_or(' ');
                if before.is_alphanumeric() || matches!(before, '_' | '.' | '-' | '/') {
                    continue;
                }
                let key: String =
                    source[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let exists = texts::find(Language::English, &key).is_some();
                assert!(key.is_empty() || exists, "{name}: t.{key}");
            }
        }
    }
}
