//! Backups that the system has stored: download and delete.

use super::{address, head};
use crate::{
    components::{
        question::{Crumb, Question},
        time::When,
    },
    failure::Outcome,
    page,
    pages::done,
    session::Session,
};
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_domain::{Error, ObjectKind, SystemId};
use bailiwick_fleet::backups::{self, Backup};
use bailiwick_policy::{Action, decide};
use bailiwick_web::PathId;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// `GET /console/systems/{id}/backups`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<SystemId>) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    let layout = &session.layout;
    let row = |backup: Backup| {
        json!({
            "id": backup.id,
            "name": backup.filename,
            "size": backup.size,
            "sha256": backup.sha256,
            "at": When::of(layout.language, layout.now, backup.uploaded_at),
        })
    };
    let rows: Vec<_> = backups::list(&app.fleet, &session.caller, id).await?.into_iter().map(row).collect();
    let values = json!({
        "head": head::head(&app, &session, &record, "backups").await?,
        "rows": rows,
        "may_delete": decide(&session.caller, Action::Update, &record.target()).is_allowed(),
    });
    Ok(page::show(layout, "systems/backups.html", values))
}

/// `GET /console/systems/{id}/backups/{backup}`: on to the bytes, by an address that lives for seconds.
pub(crate) async fn download(
    State(app): State<App>,
    session: Session,
    Path((id, backup)): Path<(String, String)>,
) -> Outcome {
    let link = backups::link(&app.fleet, &session.caller, id.parse().ok(), &backup).await?;
    let location = HeaderValue::from_str(&link.url).map_err(Error::internal)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

/// `GET /console/systems/{id}/backups/{backup}/delete`.
pub(crate) async fn ask(
    State(app): State<App>,
    session: Session,
    Path((id, backup)): Path<(String, String)>,
) -> Outcome<Response> {
    let id: Option<SystemId> = id.parse().ok();
    let record = head::load(&app, &session, id).await?;
    decide(&session.caller, Action::Update, &record.target()).granted()?;
    let all = backups::list(&app.fleet, &session.caller, id).await?;
    let backup =
        all.into_iter().find(|listed| listed.id == backup).ok_or(Error::NotFound(ObjectKind::Backup))?;
    let back = format!("{}/backups", address(record.system.id));
    Question {
        word: "delete",
        area: Some("backup"),
        name: &backup.filename,
        crumbs: vec![Crumb::link(&*back, &*record.system.name), Crumb::text(&*backup.filename)],
        action: format!("{back}/{}/delete", backup.id),
        back,
        details: Vec::new(),
        types_name: false,
        is_wrong: false,
        other: None,
    }
    .page(&session)
}

/// `POST /console/systems/{id}/backups/{backup}/delete`.
pub(crate) async fn delete(
    State(app): State<App>,
    session: Session,
    Path((id, backup)): Path<(String, String)>,
) -> Outcome {
    let system =
        backups::delete(&app.fleet, &session.caller, &session.context, (id.parse().ok(), &backup)).await?;
    Ok(done(&format!("{}/backups", address(system)), "backup_deleted"))
}
