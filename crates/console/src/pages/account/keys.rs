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
    session::Session,
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
pub(crate) async fn show(State(app): State<App>, session: Session) -> Outcome {
    own(&session)?;
    render(&app, &session, None, None).await
}

async fn render(
    app: &App,
    session: &Session,
    sent: Option<&Form>,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let layout = &session.layout;
    let when = |at| When::maybe(layout.language, layout.now, at);
    let row = |key: &ApiKey| {
        let state = match key.revoked_at {
            Some(_) => "revoked",
            None if key.expires_at <= layout.now => "expired",
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
    let keys = api_keys::list(&app.identity, &session.caller).await?;
    let text = |name: &str, usual: &str| sent.map_or_else(|| usual.to_owned(), |form| form.text(name));
    let days =
        |days: i64| (days.to_string(), texts::with(layout.language, "unit_days", "n", &days.to_string()));
    let modes = ["read", "write"].map(|mode| {
        let key = format!("key_mode_{mode}");
        (mode, texts::find(layout.language, &key).unwrap_or(mode))
    });
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "head": head(app, session, "keys"),
        "rows": keys.iter().map(row).collect::<Vec<_>>(),
        "is_available": passwords::check_mode(&app.identity).is_ok(),
        "name": text("name", ""),
        "mode": text("mode", "read"),
        "days": text("expires_in_days", "90"),
        "all_days": DAYS.map(days),
        "modes": modes,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(layout, status, "account/keys.html", values))
}

/// `POST /console/account/keys`: the page that shows the key this once.
pub(crate) async fn create(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
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
    let language = session.layout.language;
    match api_keys::create(&app.identity, &session.caller, &session.context, body).await {
        Ok((key, token)) => {
            let values = json!({
                "head": head(&app, &session, "keys"),
                "name": key.name,
                "token": token,
                "until": When::of(language, session.layout.now, key.expires_at),
            });
            Ok(page::show(&session.layout, "account/key_made.html", values))
        }
        Err(Error::Conflict { .. }) => {
            let text = texts::find(language, "keys_too_many").unwrap_or_default();
            render(&app, &session, Some(&sent), Some(json!({"name": text}))).await
        }
        Err(error) => match problems(language, &error) {
            Some(wrong) => render(&app, &session, Some(&sent), Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET /console/account/keys/{id}/revoke`.
pub(crate) async fn ask(State(app): State<App>, session: Session, PathId(id): PathId<ApiKeyId>) -> Outcome {
    own(&session)?;
    let keys = api_keys::list(&app.identity, &session.caller).await?;
    let key = keys.into_iter().find(|key| Some(key.id) == id).ok_or(Error::NotFound(ObjectKind::ApiKey))?;
    let text = |key| texts::find(session.layout.language, key).unwrap_or_default();
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
    .page(&session)
}

/// `POST /console/account/keys/{id}/revoke`.
pub(crate) async fn revoke(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<ApiKeyId>,
    _: Form,
) -> Outcome {
    own(&session)?;
    api_keys::revoke(&app.identity, &session.caller, &session.context, id).await?;
    Ok(done(&format!("{HERE}/keys"), "key_revoked"))
}
