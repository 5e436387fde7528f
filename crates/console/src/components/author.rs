//! The person who gave an object its state, where the reader may know them.

use crate::{failure::Outcome, session::Session};
use bailiwick_app::App;
use bailiwick_directory::audit::{self, Named};
use bailiwick_domain::org::Mark;
use serde_json::{Value, json};
use uuid::Uuid;

/// The names of the person who set the mark, on the object itself or on the organization that it comes from, and of the
/// person whose rights they used; as the audit record shows them to the reader. `verb`: `suspend` or `delete`.
pub(crate) async fn author(
    app: &App,
    session: &Session,
    own: Uuid,
    verb: &str,
    mark: Mark,
) -> Outcome<Value> {
    let Some(at) = mark.at else { return Ok(Value::Null) };
    let object = mark.by.map_or(own, |by| by.0);
    let found = audit::of_mark(&app.directory, &session.caller, object, verb, at).await?;
    let name = |person: Option<Named>| person.and_then(|person| person.name);
    Ok(found.map_or(Value::Null, |row| json!({"actor": name(row.actor), "acting_for": name(row.acting_for)})))
}
