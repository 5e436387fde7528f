//! The picture of a user: a new one, or none.

use super::{address, head, overview};
use crate::{components::picture::reason, failure::Outcome, form::Form, pages::done, session::Session};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::avatars::{self, Whose};
use bailiwick_domain::UserId;
use bailiwick_web::{PathId, Upload, picture};

/// `POST /console/users/{id}/picture`.
pub(crate) async fn upload(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    sent: Upload,
) -> Outcome {
    let stored =
        avatars::upload(&app.directory, &session.caller, &session.context, Whose::Of(id), picture(sent))
            .await;
    match (stored, id) {
        (Ok(_), Some(id)) => Ok(done(&address(id), "picture")),
        (Ok(_), None) => Ok(done("/console/users", "picture")),
        (Err(error), _) => match reason(&error) {
            Some(reason) => {
                let record = head::load(&app, &session, id).await?;
                overview::render(&app, &session, &record, Some(reason)).await
            }
            None => Err(error.into()),
        },
    }
}

/// `POST /console/users/{id}/picture/remove`.
pub(crate) async fn remove(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    _: Form,
) -> Outcome {
    avatars::remove(&app.directory, &session.caller, &session.context, Whose::Of(id)).await?;
    Ok(done(&id.map_or_else(|| "/console/users".to_owned(), address), "picture_removed"))
}
