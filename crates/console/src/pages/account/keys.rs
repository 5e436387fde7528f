//! The person's API keys.

use super::{HERE, head, own};
use crate::{
    components::{
        question::{Crumb, Question},
        time::When,
    },
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Guest,
    texts,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::{ApiKeyId, Error, ObjectKind};
use bailiwick_identity::{
    api_keys::{self, ApiKey, Wanted},
    passwords,
};
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};

/// Lives that are offered, in days.
const DAYS: [i64; 4] = [30, 90, 180, 365];

/// `GET /console/account/keys`.
pub(crate) async fn show(State(app): State<App>, guest: Guest) -> Outcome {
    own(&guest)?;
    render(&app, &guest, None, None).await
}

async fn render(app: &App, guest: &Guest, sent: Option<&Form>, wrong: Option<Value>) -> Outcome<Response> {
    let look = &guest.look;
    let when = |at| When::maybe(look.language, look.now, at);
    let row = |key: &ApiKey| {
        let state = match key.revoked_at {
            Some(_) => "revoked",
            None if key.expires_at <= look.now => "expired",
            None => "active",
        };
        json!({
            "name": key.name,
            "public": key.key_public,
            "mode": key.mode.as_str(),
            "state": state,
            "expires": when(Some(key.expires_at)),
            "used": when(key.last_used_at),
            "used_from": key.last_used_ip,
            "created": when(Some(key.created_at)),
            "revoke": format!("{HERE}/keys/{}/revoke", key.id),
        })
    };
    let keys = api_keys::list(app, &guest.caller).await?;
    let text = |name: &str, usual: &str| sent.map_or_else(|| usual.to_owned(), |form| form.text(name));
    let days =
        |days: i64| (days.to_string(), texts::with(look.language, "unit_days", "n", &days.to_string()));
    let modes = ["read", "write"].map(|mode| {
        let key = format!("key_mode_{mode}");
        (mode, texts::find(look.language, &key).unwrap_or(mode))
    });
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "head": head(app, guest, "keys"),
        "rows": keys.iter().map(row).collect::<Vec<_>>(),
        "is_available": passwords::check_mode(app).is_ok(),
        "name": text("name", ""),
        "mode": text("mode", "read"),
        "days": text("expires_in_days", "90"),
        "all_days": DAYS.map(days),
        "modes": modes,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(look, status, "account/keys.html", values))
}

/// `POST /console/account/keys`: the page that shows the key this once.
pub(crate) async fn create(State(app): State<App>, guest: Guest, sent: Form) -> Outcome {
    own(&guest)?;
    let body = || {
        let days = sent.text("expires_in_days");
        let days = days.parse().map_err(|_| Error::field_value("expires_in_days", "invalid", days))?;
        Ok(Wanted {
            name: Some(sent.text("name")),
            mode: Some(sent.text("mode")),
            expires_in_days: Some(days),
            password: Some(sent.text("password")),
        })
    };
    let language = guest.look.language;
    match api_keys::create(&app, &guest.caller, &guest.context, body).await {
        Ok((key, token)) => {
            let values = json!({
                "head": head(&app, &guest, "keys"),
                "name": key.name,
                "token": token,
                "until": When::of(language, guest.look.now, key.expires_at),
            });
            Ok(page::show(&guest.look, "account/key_made.html", values))
        }
        Err(Error::Conflict { .. }) => {
            let text = texts::find(language, "keys_too_many").unwrap_or_default();
            render(&app, &guest, Some(&sent), Some(json!({"name": text}))).await
        }
        Err(error) => match problems(language, &error) {
            Some(wrong) => render(&app, &guest, Some(&sent), Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET /console/account/keys/{id}/revoke`.
pub(crate) async fn ask(State(app): State<App>, guest: Guest, PathId(id): PathId<ApiKeyId>) -> Outcome {
    own(&guest)?;
    let keys = api_keys::list(&app, &guest.caller).await?;
    let key = keys.into_iter().find(|key| Some(key.id) == id).ok_or(Error::NotFound(ObjectKind::ApiKey))?;
    let text = |key| texts::find(guest.look.language, key).unwrap_or_default();
    let list = format!("{HERE}/keys");
    Question {
        word: "revoke",
        area: Some("key"),
        name: &key.name,
        crumbs: vec![Crumb::link(HERE, text("nav_account")), Crumb::link(&*list, text("account_keys"))],
        action: format!("{list}/{}/revoke", key.id),
        back: list,
        details: Vec::new(),
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(&guest)
}

/// `POST /console/account/keys/{id}/revoke`.
pub(crate) async fn revoke(
    State(app): State<App>,
    guest: Guest,
    PathId(id): PathId<ApiKeyId>,
    _: Form,
) -> Outcome {
    own(&guest)?;
    api_keys::revoke(&app, &guest.caller, &guest.context, id).await?;
    Ok(done(&format!("{HERE}/keys"), "key_revoked"))
}
