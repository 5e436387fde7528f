//! The person's sessions on all devices.

use super::{HERE, head, own};
use crate::{
    components::{device, time::When},
    failure::Outcome,
    form::Form,
    page,
    pages::done,
    session::Session,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::{ChainId, SignInMethod};
use bailiwick_identity::auth::{self, OwnSession};
use bailiwick_web::PathId;
use serde_json::json;

/// `GET /console/account/sessions`.
pub(crate) async fn show(State(app): State<App>, session: Session) -> Outcome {
    let layout = &session.layout;
    let mut sessions = auth::own_sessions(&app.identity, &session.caller).await?;
    // This one first, the others by their last use.
    sessions.sort_by_key(|own| (!own.is_present, std::cmp::Reverse(own.chain.last_used_at)));
    let row = |own: &OwnSession| {
        let OwnSession { chain, is_present } = own;
        let name = chain.device.user_agent.as_deref();
        json!({
            "device": name.map(device::short),
            "user_agent": name,
            "from": chain.device.client_ip,
            "kind": chain.kind(),
            "methods": chain.methods.map(|methods| methods.iter().map(SignInMethod::as_str).collect::<Vec<_>>()),
            "is_present": is_present,
            "created": When::of(layout.language, layout.now, chain.created_at),
            "used": When::of(layout.language, layout.now, chain.last_used_at),
            "end": format!("{HERE}/sessions/{}/end", chain.id),
        })
    };
    let values = json!({
        "head": head(&app, &session, "sessions"),
        "rows": sessions.iter().map(row).collect::<Vec<_>>(),
        "others": sessions.iter().filter(|own| !own.is_present).count(),
    });
    Ok(page::show(layout, "account/sessions.html", values))
}

/// `POST /console/account/sessions/{id}/end`.
pub(crate) async fn end(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<ChainId>,
    _: Form,
) -> Outcome {
    auth::end_session(&app.identity, &session.caller, &session.context, id).await?;
    Ok(done(&format!("{HERE}/sessions"), "session_ended"))
}

/// `POST /console/account/sessions/end`: all but this one.
pub(crate) async fn end_others(State(app): State<App>, session: Session, _: Form) -> Outcome {
    own(&session)?;
    auth::end_other_sessions(&app.identity, &session.caller, &session.context).await?;
    Ok(done(&format!("{HERE}/sessions"), "sessions_ended"))
}
