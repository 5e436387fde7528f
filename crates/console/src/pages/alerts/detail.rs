//! One alert: what it says, who is notified, what people have done about it, and what can be done.

use super::shown::{address, severity, text};
use crate::{
    components::time::{When, rough},
    failure::{Failure, Outcome},
    form::{Form, problems_by},
    links, page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::{Path, State};
use bailiwick_alertmanager::{Labels, listing::AlertState};
use bailiwick_alerts::{
    config::{self, Explanation, Why},
    manage::{self, ActiveAlert, Assign, CallerContext, Event, NewNote, Record, SilenceScope},
};
use bailiwick_app::App;
use bailiwick_directory::organizations::name_within;
use bailiwick_domain::{Error, ObjectKind, OrgId, Page, PageRequest, SystemId, Ts};
use bailiwick_policy::{Permission, SILENCING};
use bailiwick_web::Params;
use http::StatusCode;
use serde_json::{Value, json};

/// Occurrences that are shown.
const OCCURRENCES: PageRequest = PageRequest { page: 1, page_size: 10 };
/// Silences of one alert that are shown.
const SILENCES: usize = 5;

/// `GET /console/alerts/{organization}/{fingerprint}`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
    params: Params,
) -> Outcome {
    let found = match find(&app, &session, &named).await {
        // Links of messages name the system, for alerts that are known no longer.
        Err(Failure::Refused(error)) if matches!(*error, Error::NotFound(_)) => {
            return match params.one("system").and_then(|id| id.parse::<SystemId>().ok()) {
                Some(system) => Ok(page::see_other(&format!("{}/alerts", links::system(system)))),
                None => Err(Failure::Refused(error)),
            };
        }
        found => found?,
    };
    render(&app, &session, &named, &found, &Unsent::default()).await
}

/// `POST /console/alerts/{organization}/{fingerprint}/notes`.
pub(crate) async fn add_note(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
    form: Form,
) -> Outcome {
    session.needs(Permission::ManageSystems)?;
    let note = || Ok(NewNote { fingerprint: named.1.clone(), text: form.text("text") });
    let organization = [named.0.clone()];
    match manage::add_note(&app.alerts, &session.caller, &session.context, &organization, note).await {
        Ok(()) => Ok(done(&address(&named.0, &named.1), "noted")),
        Err(error) => refused(&app, &session, &named, form.text("text"), error).await,
    }
}

/// `POST /console/alerts/{organization}/{fingerprint}/take`: with a note or without.
pub(crate) async fn take(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
    form: Form,
) -> Outcome {
    session.needs(Permission::ManageSystems)?;
    let assign = || Ok(Assign { fingerprint: named.1.clone(), note: form.text("text") });
    let organization = [named.0.clone()];
    match manage::assign(&app.alerts, &session.caller, &session.context, &organization, assign).await {
        Ok(_) => Ok(done(&address(&named.0, &named.1), "taken")),
        Err(error) => refused(&app, &session, &named, form.text("text"), error).await,
    }
}

/// What a person typed into the form for a note, and why the service refused it.
#[derive(Debug, Default)]
struct Unsent {
    text: String,
    wrong: Option<Value>,
}

async fn refused(
    app: &App,
    session: &Session,
    named: &(String, String),
    text: String,
    error: Error,
) -> Outcome {
    match problems_by(session.layout.language, &error, |key| if key == "note" { "text" } else { key }) {
        // A fingerprint that cannot be one is an alert that does not exist.
        Some(wrong) if wrong.get("fingerprint").is_none() => {
            let found = find(app, session, named).await?;
            render(app, session, named, &found, &Unsent { text, wrong: Some(wrong) }).await
        }
        Some(_) => Err(Error::NotFound(ObjectKind::Alert).into()),
        None => Err(error.into()),
    }
}

/// The alert as it is, or as it was when it fired last.
struct FoundAlert {
    organization: OrgId,
    active: Option<ActiveAlert>,
    labels: Labels,
    annotations: Labels,
    occurrences: Page<Record>,
}

async fn find(app: &App, session: &Session, named: &(String, String)) -> Outcome<FoundAlert> {
    session.needs(Permission::ReadSystems)?;
    let organizations = [named.0.clone()];
    let caller = &session.caller;
    let active = match manage::active_alert(&app.alerts, caller, &organizations, &named.1).await {
        Ok((_, active)) => Some(active),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let (organization, occurrences) =
        manage::occurrences(&app.alerts, caller, &organizations, &named.1, OCCURRENCES).await?;
    let last = occurrences.rows.first();
    let read = |json: &str| serde_json::from_str::<Labels>(json).unwrap_or_default();
    let (labels, annotations) = match (&active, last) {
        (Some(active), _) => (active.alert.labels.clone(), active.alert.annotations.clone()),
        (None, Some(last)) => (read(&last.labels), read(&last.annotations)),
        (None, None) => return Err(Failure::from(Error::NotFound(ObjectKind::Alert))),
    };
    let mut alert = FoundAlert { organization, active, labels, annotations, occurrences };
    if alert.active.is_none() {
        name_places(app, session, &mut alert).await?;
    }
    Ok(alert)
}

/// Adds the present names of the system and the organization of an alert that has ended, as lists of active alerts have
/// them.
async fn name_places(app: &App, session: &Session, alert: &mut FoundAlert) -> Outcome<()> {
    let key = (alert.organization, alert.labels.value("system_key").to_owned());
    let system = manage::named_systems(&app.alerts, std::slice::from_ref(&key)).await?.remove(&key);
    let organization = match &system {
        Some(system) => Some(system.organization.clone()),
        None => name_within(&app.directory, &session.caller, alert.organization).await?,
    };
    alert.labels.insert("organization_name", organization.unwrap_or_default());
    match system {
        Some(system) => {
            alert.labels.insert("system_name", system.name);
            alert.labels.insert("system_id", system.id.to_string());
        }
        // The system is gone, so no link leads to it.
        None => alert.labels.insert("system_id", ""),
    }
    Ok(())
}

async fn render(
    app: &App,
    session: &Session,
    named: &(String, String),
    alert: &FoundAlert,
    unsent: &Unsent,
) -> Outcome {
    let (layout, language) = (&session.layout, session.layout.language);
    let organization = alert.organization.to_string();
    let (_, events) =
        manage::activity(&app.alerts, &session.caller, std::slice::from_ref(&organization), &named.1, None)
            .await?;
    let recipients = match session.caller.holds(Permission::ConfigAlerts) {
        true => Some(recipients(
            session,
            config::explain_to(&app.alerts, &session.caller, Some(&organization), alert.labels.clone())
                .await?,
        )),
        false => None,
    };
    let active = alert.active.as_ref();
    let assigned = active.and_then(|active| active.assigned.as_ref());
    let is_silenced = active.is_some_and(|a| a.alert.status.state == AlertState::Suppressed);
    let may_manage = session.caller.holds(Permission::ManageSystems);
    let may_silence = session.caller.holds_one_of(SILENCING);
    let label = |name: &str| alert.labels.value(name).to_owned();
    let when = |at: Ts| When::of(language, layout.now, at);
    let pairs = |labels: &Labels| -> Vec<(String, String)> {
        let shown = labels.iter().filter(|(_, value)| !value.is_empty());
        shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let system = label("system_id");
    let ended_at = alert.occurrences.rows.first().and_then(|last| last.ends_at);
    let values = json!({
        "href": address(&organization, &named.1),
        "name": label("alertname"),
        "severity": severity(&label("severity")),
        "summary": text(language, &alert.annotations, "summary"),
        "description": text(language, &alert.annotations, "description"),
        "state": match active { None => "resolved", Some(_) if is_silenced => "suppressed", Some(_) => "active" },
        "since": active.map(|a| when(a.alert.starts_at.to_ts())),
        "ended": ended_at.filter(|_| active.is_none()).map(when),
        "updated": active.map(|a| when(a.alert.updated_at.to_ts())),
        "source": active.map(|a| a.alert.generator_url.clone()).filter(|url| url.starts_with("http")),
        "organization": label("organization_name"),
        "organization_href": format!("/console/alerts?organization_id={organization}"),
        "system": label("system_name"),
        "system_href": (!system.is_empty()).then(|| format!("/console/systems/{system}/alerts")),
        "labels": pairs(&alert.labels),
        "annotations": pairs(&alert.annotations),
        "assigned": assigned.map(|a| json!({"name": a.user_name, "organization": a.user_org_name, "at": when(a.assigned_at)})),
        "recipients": recipients,
        "silences": silences(app, session, alert, &organization).await?,
        "events": events.iter().map(|event| shown_event(session, event)).collect::<Vec<_>>(),
        "occurrences": occurrences(session, &alert.occurrences),
        "occurrences_total": alert.occurrences.total,
        "history_href": format!("/console/alerts/history?{}", form_urlencoded::Serializer::new(String::new())
            .append_pair("organization_id", &organization).append_pair("system_key", &label("system_key"))
            .append_pair("alertname", &label("alertname")).finish()),
        "may_note": may_manage,
        "may_take": may_manage && active.is_some() && assigned.map(|a| a.user_id) != session.caller.user_id(),
        "may_silence": may_silence && active.is_some() && !is_silenced,
        "may_end": may_silence,
        "text": unsent.text,
        "wrong": unsent.wrong.clone().unwrap_or_else(|| json!({})),
    });
    let status = if unsent.wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::render(layout, status, "alerts/detail.html", values))
}

/// The silences that hide the alert now.
async fn silences(
    app: &App,
    session: &Session,
    found: &FoundAlert,
    organization: &str,
) -> Outcome<Vec<Value>> {
    let Some(active) = &found.active else { return Ok(Vec::new()) };
    let context = CallerContext { caller: &session.caller, ctx: &session.context };
    let scope = SilenceScope::Organization(vec![organization.to_owned()]);
    let mut silences = Vec::new();
    for id in active.alert.status.silenced_by.iter().take(SILENCES) {
        let silence = match manage::silence(&app.alerts, context, &scope, id).await {
            Ok(silence) => silence,
            // It has ended meanwhile.
            Err(Error::NotFound(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        silences.push(json!({
            "href": format!("/console/alerts/silences/{organization}/{id}"),
            "comment": silence.comment,
            "by": silence.created_by,
            "until": When::of(session.layout.language, session.layout.now, silence.ends_at.to_ts()),
        }));
    }
    Ok(silences)
}

/// Who is notified of alerts with these labels, for each kind of recipient.
pub(crate) fn recipients(session: &Session, explanation: Explanation) -> Vec<Value> {
    let language = session.layout.language;
    let sentence = |key: &str| texts::find(language, key).unwrap_or_default().to_owned();
    let shown = |channel: config::Channel| {
        let why = match &channel.why {
            Why::Override(true) => sentence("why_on_override"),
            Why::Override(false) => sentence("why_off_override"),
            Why::On(names) => texts::with(language, "why_on", "names", &names.join(", ")),
            Why::Off => sentence("why_off"),
        };
        let recipients: Vec<Value> = channel
            .recipients
            .into_iter()
            .map(|notified| {
                let from = match notified.named_by {
                    Some(names) => texts::with(language, "named_by", "names", &names.join(", ")),
                    None => sentence("named_by_override"),
                };
                json!({"recipient": notified.recipient, "from": from})
            })
            .collect();
        json!({"text": format!("kind_{}", channel.name), "why": why, "recipients": recipients})
    };
    explanation.channels.into_iter().map(shown).collect()
}

/// One entry of what people have done about the alert.
fn shown_event(session: &Session, event: &Event) -> Value {
    let (layout, language) = (&session.layout, session.layout.language);
    let detail = |key: &str| event.details[key].as_str().unwrap_or_default().to_owned();
    let until = detail("end_at").parse::<Ts>().ok().map(|at| When::of(language, layout.now, at));
    let actor = event.actor.as_ref().map(|(_, name)| name.clone());
    let before =
        if event.action == "unassigned" { detail("assigned_user_name") } else { detail("reassigned_from") };
    let words = match event.action.as_str() {
        "note_added" => detail("text"),
        "assigned" => detail("note"),
        _ => detail("comment"),
    };
    json!({
        "text": format!("activity_{}", event.action),
        "is_known": texts::find(language, &format!("activity_{}", event.action)).is_some(),
        "actor": actor,
        "before": before,
        "until": until,
        "words": words,
        "at": When::of(language, layout.now, event.created_at),
    })
}

/// When it has fired.
fn occurrences(session: &Session, page: &Page<Record>) -> Vec<Value> {
    let (layout, language) = (&session.layout, session.layout.language);
    let row = |record: &Record| {
        json!({
            "start": When::of(language, layout.now, record.starts_at),
            "end": When::maybe(language, layout.now, record.ends_at),
            "lasted": record.ends_at.map(|end| rough(language, end.since(record.starts_at))),
        })
    };
    page.rows.iter().map(row).collect()
}
