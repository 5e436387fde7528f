//! New webhooks, and what people write of one.

use super::{
    address,
    webhooks::{crumbs, secret},
};
use crate::{
    components::organizations::{Picked, ToHave, offered},
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_events::{
    kinds::GROUPS,
    subscriptions::{self, Input},
};
use bailiwick_policy::{Action, Permission};
use bailiwick_web::PathId;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// The pattern of everything.
const EVERYTHING: &str = "*";

/// What a form holds.
#[derive(Clone, Debug, Default)]
struct Fields {
    name: String,
    url: String,
    organization: Picked,
    /// Whole groups.
    groups: Vec<String>,
    /// Single types, one a line.
    single: String,
}

impl Fields {
    fn of(form: &Form) -> Fields {
        Fields {
            name: form.text("name"),
            url: form.text("url").trim().to_owned(),
            organization: Picked::sent(form, "organization_id"),
            groups: form.all("group"),
            single: form.text("single"),
        }
    }

    /// Of stored patterns: those of a group are ticked, the others are written.
    fn with_types(self, types: &[String]) -> Fields {
        let is_group = |pattern: &&String| pattern.as_str() == EVERYTHING || pattern.ends_with(".*");
        let single: Vec<&str> = types.iter().filter(|p| !is_group(p)).map(String::as_str).collect();
        Fields { groups: types.iter().filter(is_group).cloned().collect(), single: single.join("\n"), ..self }
    }

    fn types(&self) -> Vec<String> {
        let single = self.single.split([',', '\n']).map(str::trim).filter(|one| !one.is_empty());
        self.groups.iter().cloned().chain(single.map(str::to_owned)).collect()
    }
}

/// `GET /console/timeline/webhooks/new`.
pub(crate) async fn show_new(State(app): State<App>, session: Session) -> Outcome {
    may_make(&session)?;
    let own = session.caller.org().map(|own| own.id.to_string()).unwrap_or_default();
    let fields = Fields { organization: Picked::of(own), ..Fields::default() };
    form(&app, &session, None, &fields, None).await
}

fn may_make(session: &Session) -> Outcome<()> {
    let may = session.caller.holds(Permission::ManageAlerts);
    if may { Ok(()) } else { Err(Error::insufficient_permissions().into()) }
}

/// `POST /console/timeline/webhooks/new`.
pub(crate) async fn create(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    let fields = Fields::of(&sent);
    if fields.organization.is_search {
        may_make(&session)?;
        return form(&app, &session, None, &fields, None).await;
    }
    let input = || {
        Ok(Input {
            name: Some(fields.name.clone()),
            url: Some(fields.url.clone()),
            types: Some(fields.types()),
            enabled: None,
            organization_id: Some(fields.organization.id.clone()),
        })
    };
    match subscriptions::create(&app.events, &session.caller, &session.context, input).await {
        Ok(made) => Ok(secret(&session, &made, true)),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => form(&app, &session, None, &fields, Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET …/edit`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    subscriptions::load(&app.events, &session.caller, Action::Update, id).await?;
    let found = subscriptions::show(&app.events, &session.caller, id).await?;
    let s = &found.subscription;
    let fields = Fields { name: s.name.clone(), url: found.url.clone(), ..Fields::default() };
    form(&app, &session, Some((s.id, &s.name)), &fields.with_types(&s.types), None).await
}

/// `POST …/edit`.
pub(crate) async fn update(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
    sent: Form,
) -> Outcome {
    let fields = Fields::of(&sent);
    let input = || {
        Ok(Input {
            name: Some(fields.name.clone()),
            url: Some(fields.url.clone()),
            types: Some(fields.types()),
            ..Input::default()
        })
    };
    match subscriptions::update(&app.events, &session.caller, &session.context, id, input).await {
        Ok(changed) => Ok(done(&address(changed.subscription.id), "saved")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => {
                let (_, found) =
                    subscriptions::load(&app.events, &session.caller, Action::Update, id).await?;
                form(&app, &session, Some((found.id, &found.name)), &fields, Some(wrong)).await
            }
            None => Err(error.into()),
        },
    }
}

/// The form; `webhook`: one that exists. `wrong`: what is wrong with which field.
async fn form(
    app: &App,
    session: &Session,
    webhook: Option<(Uuid, &str)>,
    fields: &Fields,
    wrong: Option<Value>,
) -> Outcome {
    let language = session.layout.language;
    let offered = match webhook {
        None => offered(app, session, ToHave::Anything, &fields.organization).await?,
        Some(_) => Value::Null,
    };
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let group = |word: &str| {
        let (value, key) = match word {
            EVERYTHING => (EVERYTHING.to_owned(), "topic_everything".to_owned()),
            topic => (format!("{topic}.*"), format!("topic_{topic}")),
        };
        let is_on = fields.groups.contains(&value);
        json!({"value": value, "label": texts::find(language, &key).unwrap_or(word), "is_on": is_on})
    };
    let may = GROUPS.iter().filter(|group| session.caller.holds(group.permission));
    let groups: Vec<Value> =
        std::iter::once(EVERYTHING).chain(may.map(|g| g.topic.as_str())).map(group).collect();
    let values = json!({
        "crumbs": crumbs(session, webhook),
        "href": webhook.map(|(id, _)| address(id)),
        "is_new": webhook.is_none(),
        "name": fields.name,
        "url": fields.url,
        "groups": groups,
        "single": fields.single,
        "offered": offered,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "events/webhook_form.html", values))
}
