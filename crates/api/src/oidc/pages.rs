//! Pages for people: server-rendered, complete in themselves, English or Italian, usable without JavaScript.
//!
//! Templates and texts are files in `templates/`, built into the program. To add a language: a key in `texts.json`
//! beside `en` and `it` (a test compares them), and its code in [`Language`].

use axum::response::{Html, IntoResponse, Response};
use bailiwick_domain::Error;
use bailiwick_identity::{
    factors::Offer,
    oidc::{
        consent::{Allowed, Page as ConsentPage},
        login::Person,
        redirect::form_target,
        sign_in::Prompt,
    },
};
pub use bailiwick_web::{Language, language_of};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode, header};
use minijinja::{Environment, value::Serde};
use serde_json::{Value, json};
use std::sync::LazyLock;

static TEXTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../templates/texts.json")).unwrap_or_default());

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut all = Environment::new();
    for (name, text) in SOURCES {
        if let Err(error) = all.add_template(name, text) {
            tracing::error!(%error, name, "a page template cannot be read");
        }
    }
    all
});

const SOURCES: [(&str, &str); 12] = [
    ("layout.html", include_str!("../../templates/layout.html")),
    ("sign_in.html", include_str!("../../templates/sign_in.html")),
    ("second_factor.html", include_str!("../../templates/second_factor.html")),
    ("add_factor.html", include_str!("../../templates/add_factor.html")),
    ("recovery_codes.html", include_str!("../../templates/recovery_codes.html")),
    ("new_password.html", include_str!("../../templates/new_password.html")),
    ("forgotten.html", include_str!("../../templates/forgotten.html")),
    ("confirm_address.html", include_str!("../../templates/confirm_address.html")),
    ("consent.html", include_str!("../../templates/consent.html")),
    ("signed_in.html", include_str!("../../templates/signed_in.html")),
    ("response_form.html", include_str!("../../templates/response_form.html")),
    ("message.html", include_str!("../../templates/message.html")),
];

/// A message in place of a form.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    /// Unknown client or address.
    BadRequest,
    /// The waiting request is over.
    Expired,
    /// Signed out, and nowhere to go.
    SignedOut,
    /// No mail is configured, so a forgotten password cannot be reset by mail.
    NoMail,
    /// A new password was requested.
    MailAsked,
    /// A link is used, has expired, or never was.
    LinkOver,
    /// There is a new password.
    PasswordChanged,
    /// The address is confirmed.
    AddressConfirmed,
}

impl Notice {
    const fn parts(self) -> (StatusCode, &'static str) {
        match self {
            Notice::BadRequest => (StatusCode::BAD_REQUEST, "bad_request"),
            Notice::Expired => (StatusCode::BAD_REQUEST, "expired"),
            Notice::SignedOut => (StatusCode::OK, "signed_out"),
            Notice::NoMail => (StatusCode::NOT_FOUND, "no_mail"),
            Notice::MailAsked => (StatusCode::OK, "mail_asked"),
            Notice::LinkOver => (StatusCode::BAD_REQUEST, "link_over"),
            Notice::PasswordChanged => (StatusCode::OK, "password_changed"),
            Notice::AddressConfirmed => (StatusCode::OK, "address_confirmed"),
        }
    }
}

/// A page with a form.
#[derive(Clone, Debug)]
pub struct FormPage<'a> {
    /// 200, or the status of the problem.
    pub status: StatusCode,
    /// What it asks for.
    pub asks: &'a Prompt,
    /// Key of the text that describes the problem.
    pub problem: Option<&'a str>,
    /// Key of a further text after it.
    pub detail: Option<&'a str>,
    /// The value of the name field.
    pub name: Option<&'a str>,
    /// Sent back with the form.
    pub form_token: &'a str,
    /// Where the form may lead besides here.
    pub form_target: Option<&'a str>,
    /// Whether a forgotten password can be reset.
    pub has_recovery: bool,
}

/// A page for a forgotten password or for confirming an address.
#[derive(Clone, Debug)]
pub struct RecoveryPage<'a> {
    /// 200, or the status of the problem.
    pub status: StatusCode,
    /// Its file.
    pub template: &'static str,
    /// Key of the text that describes the problem.
    pub problem: Option<&'a str>,
    /// The address to be confirmed.
    pub address: Option<&'a str>,
    /// Whether the password is asked for.
    pub needs_password: bool,
    /// Sent back with the form.
    pub form_token: &'a str,
}

impl RecoveryPage<'_> {
    /// The page as it is first shown.
    pub const fn new(template: &'static str) -> Self {
        RecoveryPage {
            status: StatusCode::OK,
            template,
            problem: None,
            address: None,
            needs_password: false,
            form_token: "",
        }
    }
}

/// Renders one of those.
pub fn recovery(language: Language, page: &RecoveryPage<'_>) -> Response {
    let values = json!({
        "problem": text_of(language, page.problem),
        "address": page.address,
        "needs_password": page.needs_password,
        "form_token": page.form_token,
        "lead": text_of(language, Some("new_password_link_lead")),
    });
    render(language, page.status, page.template, values, None)
}

/// Renders a form.
pub fn form(language: Language, page: &FormPage<'_>) -> Response {
    let (template, asked) = match page.asks {
        Prompt::Password(passkey) => ("sign_in.html", json!({"passkey": passkey_of(passkey)})),
        Prompt::NewPassword => ("new_password.html", Value::Null),
        Prompt::Factor(proof) => {
            ("second_factor.html", json!({"passkey": passkey_of(&proof.passkey), "has_totp": proof.has_totp}))
        }
        Prompt::NewFactor(addition) => {
            let totp = &addition.totp;
            let asked = json!({
                "passkey": passkey_of(&addition.passkey),
                "secret": totp.secret,
                "uri": totp.uri,
                "qr_code": format!("data:image/svg+xml;base64,{}", STANDARD.encode(&totp.qr_code)),
                "totp_state": totp.state,
            });
            ("add_factor.html", asked)
        }
    };
    let values = json!({
        "asked": asked,
        "problem": text_of(language, page.problem),
        "detail": text_of(language, page.detail),
        "name": page.name,
        "form_token": page.form_token,
        "has_recovery": page.has_recovery,
    });
    render(language, page.status, template, values, page.form_target)
}

/// A passkey's offer for a template.
fn passkey_of(offer: &Option<Offer>) -> Value {
    offer
        .as_ref()
        .map_or(Value::Null, |offer| json!({"options": offer.options.to_string(), "state": offer.state}))
}

/// Renders new recovery codes, which are shown only now, and the way on.
pub fn recovery_codes(language: Language, codes: &[String], address: &str) -> Response {
    let values = json!({"codes": codes, "way_on": address});
    render(language, StatusCode::OK, "recovery_codes.html", values, None)
}

/// `GET /oidc/passkey.js`: lets a browser make and use passkeys in forms that carry an offer.
pub async fn passkey_script() -> Response {
    script(bailiwick_web::PASSKEY_SCRIPT)
}

/// `GET /oidc/form-post.js`: posts the form of [`response_form`] by itself.
pub async fn form_post_script() -> Response {
    script("document.forms[0].submit();\n")
}

fn script(text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
    ];
    (headers, text).into_response()
}

/// Renders the form that carries a response to its client; without JavaScript the user presses its button.
pub fn response_form(language: Language, action: &str, fields: &[(&'static str, String)]) -> Response {
    let values = json!({"action": action, "fields": fields});
    render(language, StatusCode::OK, "response_form.html", values, form_target(action).as_deref())
}

/// Renders the page that asks for consent to an application's scopes.
pub fn consent(language: Language, page: &ConsentPage) -> Response {
    let scopes = page.scopes.iter().map(|scope| text_of(language, Some(&format!("scope_{scope}"))));
    let values = json!({
        "application": page.application,
        "host": page.host,
        "scopes": scopes.collect::<Vec<_>>(),
        "name": page.person.name,
        "email": page.person.email,
        "form_token": page.form_token,
    });
    render(language, StatusCode::OK, "consent.html", values, page.form_target.as_deref())
}

/// Renders the signed-in user and the applications they have allowed, with the forms to sign out and to withdraw.
pub fn signed_in(language: Language, person: &Person, allowed: &[Allowed], form_token: &str) -> Response {
    let allowed = allowed.iter().map(|a| json!({"client_id": a.client_id, "application": a.application}));
    let values = json!({
        "name": person.name,
        "email": person.email,
        "organization": person.organization,
        "allowed": allowed.collect::<Vec<_>>(),
        "form_token": form_token,
    });
    render(language, StatusCode::OK, "signed_in.html", values, None)
}

/// Renders a notice; `detail` is for the client's developer.
pub fn notice(language: Language, notice: Notice, detail: Option<&str>) -> Response {
    let (status, key) = notice.parts();
    message(language, status, key, detail, None)
}

/// Renders a notice with a link to go on.
pub fn notice_with_way_on(language: Language, notice: Notice, address: &str) -> Response {
    let (status, key) = notice.parts();
    message(language, status, key, None, Some(address))
}

/// Renders a fault of ours.
pub fn fault(language: Language, error: &Error) -> Response {
    super::error::log(error);
    let (status, retry_after) = super::error::status_of(error);
    let key = match status {
        StatusCode::TOO_MANY_REQUESTS => "too_many",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        StatusCode::INTERNAL_SERVER_ERROR => "failed",
        _ => "bad_request",
    };
    let mut response = message(language, status, key, None, None);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn message(
    language: Language,
    status: StatusCode,
    key: &str,
    detail: Option<&str>,
    way_on: Option<&str>,
) -> Response {
    let of = |part: &str| text_of(language, Some(&format!("{key}_{part}")));
    let is_problem = !status.is_success();
    let values = json!({
        "title": of("title"),
        "body": of("body"),
        "detail": detail,
        "way_on": way_on,
        "is_problem": is_problem,
    });
    render(language, status, "message.html", values, None)
}

fn text_of(language: Language, key: Option<&str>) -> Option<&'static str> {
    key.and_then(|key| TEXTS[language.code()][key].as_str())
}

fn render(
    language: Language,
    status: StatusCode,
    template: &str,
    mut values: Value,
    form_target: Option<&str>,
) -> Response {
    values["lang"] = json!(language.code());
    values["t"] = TEXTS[language.code()].clone();
    let html = TEMPLATES.get_template(template).and_then(|page| page.render(Serde(&values)));
    let mut response = match html {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, template, "a page cannot be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-language"));
    if let Ok(policy) = HeaderValue::from_str(&content_policy(form_target)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Browsers also apply `form-action` to the redirect after the form, hence the client's origin in it.
fn content_policy(form_target: Option<&str>) -> String {
    let target = form_target.map(|target| format!(" {target}")).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'{target}; \
         base-uri 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(language: &str) -> Vec<String> {
        let texts = TEXTS[language].as_object().unwrap();
        let mut keys: Vec<String> = texts.keys().cloned().collect();
        keys.sort();
        assert!(texts.values().all(|text| text.as_str().is_some_and(|text| !text.is_empty())));
        keys
    }

    #[test]
    fn both_languages_say_the_same_things() {
        assert_eq!(keys("en"), keys("it"));
    }

    #[test]
    fn every_text_a_template_names_exists_and_every_template_is_read() {
        for (name, source) in SOURCES {
            assert!(TEMPLATES.get_template(name).is_ok(), "{name}");
            for part in source.split("t.").skip(1).filter(|_| source.contains("{{")) {
                let key: String =
                    part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let is_text = source.contains(&format!("{{{{ t.{key}"));
                assert!(!is_text || keys("en").contains(&key), "{name}: {key}");
            }
        }
    }

    #[test]
    fn what_a_user_typed_is_text_and_nothing_else() {
        let page = FormPage {
            status: StatusCode::OK,
            asks: &Prompt::Password(None),
            problem: Some("wrong_credentials"),
            detail: None,
            name: Some("\"><script>alert(1)</script>"),
            form_token: "x",
            form_target: None,
            has_recovery: false,
        };
        let values = json!({"name": page.name, "asked": {}, "t": TEXTS["en"], "lang": "en"});
        let html = TEMPLATES.get_template("sign_in.html").unwrap().render(Serde(&values)).unwrap();
        assert!(!html.contains("<script>"), "{html}");
        assert!(html.contains("&lt;script&gt;"));
    }
}
