//! New users, and what is written of a user.

use super::{address, head};
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
use bailiwick_directory::{
    roles,
    users::{self, UserBody, UserRecord},
};
use bailiwick_domain::{Error, UserId, exact};
use bailiwick_policy::{Action, Resource, gate};
use bailiwick_web::{Params, PathId};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// Empty rows for further data.
const SPARE_ROWS: usize = 2;

/// `GET /console/users/new`.
pub(crate) async fn show_new(State(app): State<App>, session: Session, params: Params) -> Outcome {
    gate(&session.caller, Action::Create, Resource::Users).map_err(Error::from)?;
    let wanted = params.text("organization_id").unwrap_or_default();
    let fields = Fields { organization: Picked::of(wanted), ..Fields::default() };
    form(&app, &session, None, &fields, None).await
}

/// `POST /console/users/new`.
pub(crate) async fn create(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    let fields = Fields::of(&sent);
    if fields.organization.is_search {
        gate(&session.caller, Action::Create, Resource::Users).map_err(Error::from)?;
        return form(&app, &session, None, &fields, None).await;
    }
    let body = || {
        Ok(UserBody {
            username: Some(fields.username.clone()),
            email: Some(fields.email.clone()),
            name: Some(fields.name.clone()),
            phone: Some(fields.phone.clone()),
            user_role_ids: Some(fields.roles.clone()),
            organization_id: Some(fields.organization.id.clone()),
            custom_data: Some(data_of(&fields.data)),
        })
    };
    match users::create(&app.directory, &session.caller, &session.context, body).await {
        Ok(view) => Ok(done(&address(view.user.id), created(&app))),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => form(&app, &session, None, &fields, Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// What a new user has got.
fn created(app: &App) -> &'static str {
    match (app.settings.identity.makes_accounts(), app.settings.mail.is_some()) {
        (true, true) => "user_created",
        (true, false) => "user_created_silent",
        (false, _) => "user_created_elsewhere",
    }
}

/// `GET /console/users/{id}/edit`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<UserId>) -> Outcome {
    let record = users::load_for(&app.directory, &session.caller, Action::Update, id).await?;
    let fields = Fields::stored(&record);
    form(&app, &session, Some(&record), &fields, None).await
}

/// `POST /console/users/{id}/edit`.
pub(crate) async fn update(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<UserId>,
    sent: Form,
) -> Outcome {
    let record = users::load_for(&app.directory, &session.caller, Action::Update, id).await?;
    let fields = Fields::of(&sent);
    let mut stored = Fields::stored(&record).roles;
    let mut chosen = fields.roles.clone();
    // Roles that the person may not give are not in the form and stay.
    let home = Some(record.view.user.organization.org_type);
    let offered: Vec<String> =
        roles::grantable(&app.directory, &session.caller, home).into_iter().map(|role| role.id).collect();
    chosen.extend(stored.iter().filter(|role| !offered.contains(role)).cloned());
    stored.sort_unstable();
    chosen.sort_unstable();
    let data = fields.map_beside(record.view.user.custom_data.as_ref());
    let body = || {
        Ok(UserBody {
            username: Some(fields.username.clone()),
            email: Some(fields.email.clone()),
            name: Some(fields.name.clone()),
            phone: Some(fields.phone.clone()),
            user_role_ids: (stored != chosen).then(|| chosen.clone()),
            organization_id: None,
            custom_data: Some(data.clone()),
        })
    };
    let context = sent.conditional(&session.context);
    let error = match users::update(&app.directory, &session.caller, &context, id, body).await {
        Ok(view) => return Ok(done(&address(view.user.id), "saved")),
        Err(error) => error,
    };
    let Some(wrong) = problems_or_outdated(session.layout.language, &error) else {
        return Err(error.into());
    };
    // As it is now, so that saving again replaces the other change knowingly.
    let record = users::load_for(&app.directory, &session.caller, Action::Update, id).await?;
    form(&app, &session, Some(&record), &fields, Some(wrong)).await
}

/// A value as a field shows it.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| exact::text(value), str::to_owned)
}

/// What a form holds.
#[derive(Clone, Debug, Default)]
struct Fields {
    name: String,
    email: String,
    username: String,
    phone: String,
    roles: Vec<String>,
    organization: Picked,
    data: Vec<(String, String)>,
}

impl Fields {
    fn of(form: &Form) -> Fields {
        Fields {
            name: form.text("name"),
            email: form.text("email").trim().to_owned(),
            username: form.text("username").trim().to_owned(),
            phone: form.text("phone"),
            roles: form.all("user_role_ids"),
            organization: Picked::sent(form, "organization_id"),
            data: form.free_data(),
        }
    }

    fn stored(record: &UserRecord) -> Fields {
        let user = &record.view.user;
        let data = user.custom_data.iter().flatten();
        Fields {
            name: user.name.clone(),
            email: user.email.clone(),
            username: user.username.clone(),
            phone: user.phone.clone().unwrap_or_default(),
            roles: record.view.roles.iter().map(|(key, _)| key.clone()).collect(),
            organization: Picked::default(),
            data: data.map(|(key, value)| (key.clone(), text_of(value))).collect(),
        }
    }

    /// The further data; a value that was not changed keeps its type.
    fn map_beside(&self, stored: Option<&Map<String, Value>>) -> Map<String, Value> {
        let mut all = data_of(&self.data);
        for (key, value) in &mut all {
            let present = stored.and_then(|stored| stored.get(key));
            if let Some(present) = present.filter(|present| *value == json!(text_of(present))) {
                *value = present.clone();
            }
        }
        all
    }
}

/// The form; `record`: a user who exists. `wrong`: what is wrong with which field.
async fn form(
    app: &App,
    session: &Session,
    record: Option<&UserRecord>,
    fields: &Fields,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let user = record.map(|record| &record.view.user);
    let offered = match user {
        None => offered(app, session, ToHave::User, &fields.organization).await?,
        Some(_) => Value::Null,
    };
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut data = fields.data.clone();
    data.extend(std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS));
    let home = user.map(|user| user.organization.org_type);
    let role = |role: roles::RoleChoice| {
        let is_on = fields.roles.contains(&role.id);
        json!({"id": role.id, "name": role.name, "description": role.description, "is_on": is_on})
    };
    let values = json!({
        "is_new": user.is_none(),
        "seen": user.map(|user| etag(&app.platform, user)).transpose()?,
        "href": user.map(|user| address(user.id)),
        "crumbs": user.map(|user| head::crumbs(session, user)),
        "name": fields.name,
        "email": fields.email,
        "username": fields.username,
        "phone": fields.phone,
        "roles": roles::grantable(&app.directory, &session.caller, home).into_iter().map(role).collect::<Vec<_>>(),
        "data": data,
        "offered": offered,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "users/form.html", values))
}
