//! New systems, and what people write of a system.

use super::{access, address, head};
use crate::{
    components::organizations::{Picked, ToHave, offered},
    failure::Outcome,
    form::{Form, data_of, etag, problems, problems_or_outdated},
    page,
    pages::done,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_domain::{Error, System, SystemId};
use bailiwick_fleet::systems::{self, Change, NewSystem};
use bailiwick_policy::{Action, Resource, decide, gate};
use bailiwick_web::{Params, PathId};
use http::StatusCode;
use serde_json::{Value, json};

/// Empty rows for further data.
const SPARE_ROWS: usize = 2;

/// `GET /console/systems/new`.
pub(crate) async fn show_new(State(app): State<App>, session: Session, params: Params) -> Outcome {
    gate(&session.caller, Action::Create, Resource::Systems).map_err(Error::from)?;
    let wanted = params.text("organization_id").unwrap_or_default();
    let fields = Fields { organization: Picked::of(wanted), ..Fields::default() };
    form(&app, &session, None, &fields, None).await
}

/// `POST /console/systems/new`.
pub(crate) async fn create(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    let fields = Fields::of(&sent);
    if fields.organization.is_search {
        gate(&session.caller, Action::Create, Resource::Systems).map_err(Error::from)?;
        return form(&app, &session, None, &fields, None).await;
    }
    let new = || {
        Ok(NewSystem {
            name: fields.name.clone(),
            organization_id: fields.organization.id.clone(),
            custom_data: data_of(&fields.data),
            notes: fields.notes.clone(),
            ..NewSystem::default()
        })
    };
    match systems::create(&app.fleet, &session.caller, &session.context, new).await {
        Ok(created) => Ok(access::secret(&app, &session, &created, true)),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => form(&app, &session, None, &fields, Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET /console/systems/{id}/edit`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<SystemId>) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    decide(&session.caller, Action::Update, &record.target()).granted()?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let system = &record.system;
    let fields = Fields {
        name: system.name.clone(),
        notes: system.notes.clone(),
        organization: Picked::of(system.organization.id.to_string()),
        data: system.custom_data.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        etag: None,
    };
    form(&app, &session, Some(system), &fields, None).await
}

/// `POST /console/systems/{id}/edit`.
pub(crate) async fn update(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<SystemId>,
    sent: Form,
) -> Outcome {
    let fields = Fields::of(&sent);
    if fields.organization.is_search {
        let record = head::load(&app, &session, id).await?;
        decide(&session.caller, Action::Update, &record.target()).granted()?;
        let fields = Fields { etag: Some(sent.text("seen")), ..fields };
        return form(&app, &session, Some(&record.system), &fields, None).await;
    }
    let change = || {
        // An empty name would keep the old one without a word.
        if fields.name.trim().is_empty() {
            return Err(Error::field("name", "required"));
        }
        Ok(Change {
            name: Some(fields.name.clone()),
            notes: Some(fields.notes.clone()),
            custom_data: Some(data_of(&fields.data)),
            organization_id: Some(fields.organization.id.clone()),
        })
    };
    let context = sent.conditional(&session.context);
    let error = match systems::update(&app.fleet, &session.caller, &context, id, change).await {
        Ok(system) => return Ok(done(&address(system.id), "saved")),
        Err(error) => error,
    };
    let Some(wrong) = problems_or_outdated(session.layout.language, &error) else {
        return Err(error.into());
    };
    let record = head::load(&app, &session, id).await?;
    form(&app, &session, Some(&record.system), &fields, Some(wrong)).await
}

/// What a form holds.
#[derive(Clone, Debug, Default)]
struct Fields {
    name: String,
    notes: String,
    organization: Picked,
    data: Vec<(String, String)>,
    /// The state of the system that the form was made from, where it is not the present one.
    etag: Option<String>,
}

impl Fields {
    fn of(form: &Form) -> Fields {
        Fields {
            name: form.text("name"),
            notes: form.text("notes"),
            organization: Picked::sent(form, "organization_id"),
            data: form.free_data(),
            etag: None,
        }
    }
}

/// The form of a new system, or of one that exists. `wrong`: what is wrong with which field.
async fn form(
    app: &App,
    session: &Session,
    system: Option<&System>,
    fields: &Fields,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let offered = offered(app, session, ToHave::Anything, &fields.organization).await?;
    let etag = match &fields.etag {
        Some(etag) => Some(etag.clone()),
        None => system.map(|system| etag(&app.platform, system)).transpose()?,
    };
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut data = fields.data.clone();
    data.extend(std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS));
    let values = json!({
        "is_new": system.is_none(),
        "action": system.map_or_else(|| "/console/systems/new".to_owned(), |s| format!("{}/edit", address(s.id))),
        "back": system.map_or_else(|| "/console/systems".to_owned(), |s| address(s.id)),
        "title": system.map(|system| &system.name),
        // A system that has never registered stays where it is.
        "may_move": system.is_none_or(|system| system.registered_at.is_some()),
        "seen": etag,
        "name": fields.name,
        "notes": fields.notes,
        "data": data,
        "offered": offered,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "systems/form.html", values))
}
