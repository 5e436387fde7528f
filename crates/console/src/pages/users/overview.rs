//! What is known of a user.

use super::head;
use crate::{components::time::When, failure::Outcome, page, pages::organizations, session::Session};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::users::UserRecord;
use bailiwick_domain::{UserId, exact};
use bailiwick_policy::{Action, Permission, decide};
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::json;

/// `GET /console/users/{id}`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<UserId>) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    render(&app, &session, &record, None).await
}

/// The page; `refused`: why a picture was not taken.
pub(super) async fn render(
    app: &App,
    session: &Session,
    record: &UserRecord,
    refused: Option<&str>,
) -> Outcome<Response> {
    let (layout, view) = (&session.layout, &record.view);
    let user = &view.user;
    let when = |at| When::maybe(layout.language, layout.now, at);
    let custom = user.custom_data.iter().flatten();
    let custom: Vec<(String, String)> = custom
        .map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| exact::text(value), str::to_owned)))
        .collect();
    let creator = user.created_by.as_ref();
    let is_own = session.caller.user_id() == Some(user.id);
    let asks_consent = session.caller.holds(Permission::ImpersonateUsers)
        && !is_own
        && session.caller.acting_for().is_none();
    let values = json!({
        "head": head::head(app, session, record).await?,
        "username": user.username,
        "email": user.email,
        "is_verified": user.email_verified,
        "phone": user.phone,
        "roles": view.roles.iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "organization": user.organization.name,
        "organization_href": organizations::readable_address(&session.caller, &user.organization),
        "level": user.organization.org_type.as_str(),
        "created": when(Some(user.created_at)),
        "updated": when(Some(user.updated_at)),
        "created_by": creator.map(|creator| creator.name.as_str()),
        "created_by_organization": creator.map(|creator| creator.organization_name.as_str()),
        "custom": custom,
        "sync_error": view.sync_error.as_ref().and_then(Option::as_ref),
        "asks_consent": asks_consent,
        "may_impersonate": view.can_be_impersonated == Some(true) && asks_consent,
        "until": when(record.consented_until),
        "may_picture": decide(&session.caller, Action::Update, &record.target).is_allowed(),
        "refused": refused,
    });
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::render(layout, status, "users/overview.html", values))
}
