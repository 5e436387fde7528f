//! Who is notified of an organization's alerts: what is in force, and the layers that it comes from.

use super::of;
use crate::{components::time::When, failure::Outcome, form::Form, form::problems, page, session::Session};
use axum::extract::State;
use bailiwick_alertmanager::{
    config::Layer,
    receivers::{AnyRecipient, Channels, RecipientKind},
};
use bailiwick_alerts::{
    config::{self, EffectiveView},
    notify::{self, TestOrder, TestOutcome},
};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, name_within};
use bailiwick_domain::{Error, OrgId, OrgType};
use bailiwick_policy::Permission;
use bailiwick_web::Params;
use serde_json::{Value, json};

/// Organizations that a search offers.
const OFFERED: u64 = 20;

/// `GET /console/notifications`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let find = params.one("find").map(str::to_owned);
    render(&app, &session, params.text("organization_id"), find.as_deref(), None).await
}

/// `POST /console/notifications/test`: a test message to a recipient of the person's own layer.
pub(crate) async fn test(State(app): State<App>, session: Session, form: Form) -> Outcome {
    session.needs(Permission::ManageAlerts)?;
    let order = || Ok(TestOrder { channel: form.text("channel"), recipient: form.text("recipient") });
    match notify::send_test(&app.alerts, &session.caller, &session.context, order).await {
        Ok(outcome) => render(&app, &session, None, None, Some(outcome)).await,
        // The recipient has been taken out meanwhile.
        Err(error) if problems(session.layout.language, &error).is_some() => {
            let gone = Error::bad_request("there is no such recipient");
            Err(gone.into())
        }
        Err(error) => Err(error.into()),
    }
}

async fn render(
    app: &App,
    session: &Session,
    named: Option<&str>,
    find: Option<&str>,
    tested: Option<TestOutcome>,
) -> Outcome {
    session.needs(Permission::ReadAlerts)?;
    let (layout, caller) = (&session.layout, &session.caller);
    let own = caller.org().ok_or_else(Error::insufficient_permissions)?;
    let is_customer = own.org_type == OrgType::Customer;
    let own_id = own.id.to_string();
    let id = named.filter(|_| !is_customer).unwrap_or(&own_id).to_owned();
    // The refusal comes first: of a foreign organization not even the name is read.
    let layer = config::get(&app.alerts, caller, Some(&id)).await?;
    let is_own = id == own_id;
    let name = match id.parse::<OrgId>() {
        Ok(_) if is_own => Some(own.name.clone()),
        Ok(id) => name_within(&app.directory, caller, id).await?,
        Err(_) => None,
    };
    let may_manage = caller.holds(Permission::ManageAlerts);
    let view = match caller.holds(Permission::ConfigAlerts) {
        true => Some(config::view(&app.alerts, caller, Some(&id)).await?),
        false => None,
    };
    let offered = match find.filter(|_| !is_customer) {
        Some(find) => offered(app, session, find).await?,
        None => Value::Null,
    };
    let values = json!({
        "name": name.unwrap_or_default(),
        "is_own": is_own,
        "has_layer": layer.flat.is_some(),
        "layer": channels(&layer.layer.channels),
        "overrides": layer.layer.systems.iter().map(|system| json!({
            "key": system.system_key, "channels": channels(&system.channels),
            "href": format!("{}&{}", of("/edit", &id), pair("system_key", &system.system_key)),
        })).collect::<Vec<_>>(),
        "warnings": layer.warnings,
        "updated": When::maybe(layout.language, layout.now, layer.updated_at),
        "updated_by": layer.updated_by_name,
        "chain": view.as_ref().map(|view| chain(session, view)),
        "effective": view.as_ref().map(effective),
        "is_nobody": view.as_ref().is_some_and(is_nobody),
        "may_edit": may_manage,
        "may_test": may_manage && is_own,
        "may_choose": !is_customer,
        "edit_href": of("/edit", &id),
        "remove_href": of("/remove", &id),
        "who_href": of("/who", &id),
        "organization_id": id,
        "find": find.unwrap_or_default(),
        "offered": offered,
        "tested": tested.map(|t| json!({"channel": t.channel, "recipient": t.recipient, "error": t.error})),
    });
    Ok(page::show(layout, "notifications/show.html", values))
}

fn pair(key: &str, value: &str) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair(key, value).finish()
}

/// Organizations whose layers the person may look at.
async fn offered(app: &App, session: &Session, find: &str) -> Outcome<Value> {
    let found = organizations::find(&app.directory, &session.caller, find, OFFERED).await?;
    let row = |id: String, name: &str| json!({"name": name, "href": of("", &id)});
    let rows: Vec<Value> = found.rows.iter().map(|org| row(org.id.to_string(), &org.name)).collect();
    Ok(json!({"rows": rows, "more": found.total.saturating_sub(OFFERED)}))
}

/// Each kind with its toggle and recipients.
fn channels(channels: &Channels) -> Vec<Value> {
    let kind = |kind: &RecipientKind| json!({"word": kind.as_str(), "toggle": channels.toggle(*kind), "recipients": rows(channels, *kind)});
    RecipientKind::ALL.iter().map(kind).collect()
}

/// Whether a recipient is one of an organization above the reader's.
fn is_hidden(recipient: &AnyRecipient) -> bool {
    matches!(recipient.name().as_str(), "[REDACTED]" | "0")
}

fn rows(channels: &Channels, kind: RecipientKind) -> Vec<Value> {
    let list = serde_json::to_value(channels).unwrap_or_default()[kind.list_key()].take();
    let facts = list.as_array().cloned().unwrap_or_default();
    let row = |(recipient, facts): (AnyRecipient, Value)| {
        json!({
            "name": recipient.name(),
            "is_hidden": is_hidden(&recipient),
            "url": facts["url"].as_str().map(bailiwick_alertmanager::webhook_target::redacted),
            "severities": facts["severities"],
            "language": facts["language"],
            "format": facts["format"],
            "key": recipient.description(),
        })
    };
    channels.recipients(kind).into_iter().zip(facts).map(row).collect()
}

/// The layers from the owner down.
fn chain(session: &Session, view: &EffectiveView) -> Vec<Value> {
    let layout = &session.layout;
    let may_edit = session.caller.holds(Permission::ManageAlerts);
    let link = |link: &config::LinkView| {
        // Layers above the reader's organization are not theirs.
        let is_theirs = link.updated_by_name.is_some()
            || session.caller.org().map(|own| own.id) == Some(link.organization_id);
        json!({
            "name": link.organization_name,
            "role": link.org_type.as_str(),
            "is_present": link.organization_id == view.organization_id,
            "href": is_theirs.then(|| of("", &link.organization_id.to_string())),
            "edit": (is_theirs && may_edit).then(|| of("/edit", &link.organization_id.to_string())),
            "channels": link.layer.as_ref().map(|layer| channels(&layer.channels)),
            "overrides": link.layer.as_ref().map_or(0, |layer| layer.systems.len()),
            "updated": When::maybe(layout.language, layout.now, link.updated_at),
            "updated_by": link.updated_by_name,
        })
    };
    view.chain.iter().map(link).collect()
}

/// Whether no channel has a recipient.
fn is_nobody(view: &EffectiveView) -> bool {
    RecipientKind::ALL.iter().all(|kind| view.effective.channels.recipients(*kind).is_empty())
}

/// What is in force, each recipient with the organizations that name it.
fn effective(view: &EffectiveView) -> Vec<Value> {
    let layers: Vec<(&str, &Layer)> = view
        .chain
        .iter()
        .filter_map(|link| Some((link.organization_name.as_str(), link.layer.as_ref()?)))
        .collect();
    let recipients_of = |kind: &RecipientKind| {
        let on: Vec<&str> = layers
            .iter()
            .filter(|(_, layer)| layer.channels.toggle(*kind) == Some(true))
            .map(|(name, _)| *name)
            .collect();
        let mut recipients = rows(&view.effective.channels, *kind);
        for (row, recipient) in recipients.iter_mut().zip(view.effective.channels.recipients(*kind)) {
            let names = |(_, layer): &&(&str, &Layer)| {
                let mut all = layer.channels.recipients(*kind).into_iter();
                all.any(|one| one.name() == recipient.name() && one.key() == recipient.key())
            };
            let from: Vec<&str> = layers.iter().filter(names).map(|(name, _)| *name).collect();
            row["from"] = json!(from.join(", "));
        }
        json!({"word": kind.as_str(), "is_on": view.effective.channels.toggle(*kind) == Some(true),
            "on": on.join(", "), "recipients": recipients})
    };
    RecipientKind::ALL.iter().map(recipients_of).collect()
}
