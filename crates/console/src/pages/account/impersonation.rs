//! Impersonation of the person: their consent, the people who have acted in their name, and what these people did.

use super::{HERE, head, own};
use crate::{
    components::{
        list::{Address, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    form::Form,
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::{Error, ImpersonationId};
use bailiwick_identity::impersonation::{self, ImpersonationEntry, Side, over_at};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::{Value, json};

/// Times that are offered, in hours.
const HOURS: [u64; 6] = [1, 4, 8, 24, 72, 168];

/// `GET /console/account/impersonation`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    own(&session)?;
    let layout = &session.layout;
    let consent = impersonation::consent(&app.identity, &session.caller).await?;
    let side = Some(Side::Impersonated);
    let found = impersonation::sessions(&app.identity, &session.caller, side, params.page(PAGE_SIZE)).await?;
    let here = Address::of(&format!("{HERE}/impersonation"), uri.query());
    let hours = |hours: u64| {
        let key = if hours < 24 { "unit_hours" } else { "unit_days" };
        let number = if hours < 24 { hours } else { hours / 24 };
        (hours.to_string(), texts::with(layout.language, key, "n", &number.to_string()))
    };
    let values = json!({
        "head": head(&app, &session, "impersonation"),
        "until": When::maybe(layout.language, layout.now, consent.map(|consent| consent.expires_at)),
        "hours": HOURS.map(hours),
        "rows": found.rows.iter().map(|recorded| row(&session, recorded)).collect::<Vec<_>>(),
        "pager": Pager::of(&found, &here)?,
    });
    Ok(page::show(layout, "account/impersonation.html", values))
}

fn row(session: &Session, recorded: &impersonation::Session) -> Value {
    let layout = &session.layout;
    let over = over_at(recorded, layout.now);
    json!({
        "href": format!("{HERE}/impersonation/{}", recorded.id),
        "name": recorded.impersonator.name,
        "username": recorded.impersonator.username,
        "started": When::of(layout.language, layout.now, recorded.started_at),
        "ended": When::maybe(layout.language, layout.now, over),
        "is_live": over.is_none(),
        "actions": recorded.action_count,
    })
}

/// `POST /console/account/impersonation/consent`.
pub(crate) async fn give(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    own(&session)?;
    let body = || {
        let hours = sent.text("duration_hours");
        let parsed =
            hours.parse().map_err(|_| Error::field_value("duration_hours", "out_of_range", hours))?;
        Ok(Some(parsed))
    };
    impersonation::give_consent(&app.identity, &session.caller, &session.context, body).await?;
    Ok(done(&format!("{HERE}/impersonation"), "consent_given"))
}

/// `POST /console/account/impersonation/withdraw`.
pub(crate) async fn withdraw(State(app): State<App>, session: Session, _: Form) -> Outcome {
    own(&session)?;
    impersonation::withdraw_consent(&app.identity, &session.caller, &session.context).await?;
    Ok(done(&format!("{HERE}/impersonation"), "consent_withdrawn"))
}

/// `GET /console/account/impersonation/{id}`: what was done.
pub(crate) async fn session(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<ImpersonationId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    own(&session)?;
    let layout = &session.layout;
    let (recorded, found) =
        impersonation::audit(&app.identity, &session.caller, id, params.page(PAGE_SIZE)).await?;
    let here = Address::of(&format!("{HERE}/impersonation/{}", recorded.id), uri.query());
    let entry = |entry: &ImpersonationEntry| {
        json!({
            "at": When::of(layout.language, layout.now, entry.at),
            "kind": entry.action_type,
            "method": entry.http_method,
            "path": entry.api_endpoint,
            "status": entry.response_status,
            "words": entry.response_status_text,
            "data": entry.request_data.as_deref().filter(|data| !data.is_empty()),
        })
    };
    let values = json!({
        "head": head(&app, &session, "impersonation"),
        "session": row(&session, &recorded),
        "rows": found.rows.iter().map(entry).collect::<Vec<_>>(),
        "pager": Pager::of(&found, &here)?,
    });
    Ok(page::show(layout, "account/acted.html", values))
}
