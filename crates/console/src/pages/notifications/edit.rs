//! The editor of a layer: an organization's toggles and recipients, or those that differ for one of its systems.

use super::{HERE, fields, of};
use crate::{
    components::question::{Crumb, Question},
    failure::Outcome,
    form::{Form, conditional_on, is_outdated, problems_by},
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::{extract::State, response::Response};
use bailiwick_alertmanager::receivers::RecipientKind;
use bailiwick_alerts::config::{self, Closed, Saved};
use bailiwick_app::App;
use bailiwick_directory::organizations::name_within;
use bailiwick_domain::{Error, OrgId};
use bailiwick_policy::Permission;
use bailiwick_web::Params;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// Whose layer is edited.
struct Edited {
    id: OrgId,
    name: String,
    is_owner: bool,
    /// The system whose override it is.
    system: Option<String>,
}

impl Edited {
    /// The organization that is named, or the person's own; customers have their own only.
    async fn of(app: &App, session: &Session, named: Option<&str>, system: Option<&str>) -> Outcome<Edited> {
        session.needs(Permission::ManageAlerts)?;
        let own = session.caller.org().ok_or_else(Error::insufficient_permissions)?;
        let is_named = named.filter(|_| own.org_type != bailiwick_domain::OrgType::Customer);
        let id = match is_named {
            Some(named) => named.parse::<OrgId>().ok(),
            None => Some(own.id),
        };
        let name = match id {
            Some(id) if id == own.id => Some(own.name.clone()),
            Some(id) => name_within(&app.directory, &session.caller, id).await?,
            None => None,
        };
        let refused = || Error::forbidden("access denied: organization not in your hierarchy");
        let (id, name) = id.zip(name).ok_or_else(refused)?;
        let is_owner = id == own.id && own.org_type == bailiwick_domain::OrgType::Owner;
        let system = system.map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned);
        Ok(Edited { id, name, is_owner, system })
    }

    fn address(&self) -> String {
        of("", &self.id.to_string())
    }
}

/// `GET /console/notifications/edit`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let edited =
        Edited::of(&app, &session, params.text("organization_id"), params.text("system_key")).await?;
    let (layer, etag) = stored(&app, &session, &edited).await?;
    let channels = match &edited.system {
        Some(key) => layer["systems"].as_array().into_iter().flatten().find(|o| o["system_key"] == **key),
        None => Some(&layer),
    };
    Ok(render(&session, &edited, channels.unwrap_or(&Value::Null), &etag, "", None))
}

/// The layer as the person may see it, and its state for the field `seen`. A secret that they may not see is kept when
/// its hidden form is sent back.
async fn stored(app: &App, session: &Session, edited: &Edited) -> Outcome<(Value, String)> {
    let shown = config::get(&app.alerts, &session.caller, Some(&edited.id.to_string())).await?;
    let mut layer = serde_json::to_value(&shown.layer).map_err(Error::internal)?;
    // Below the owner "off" is stored as no opinion. A channel that is off although it has recipients stays off.
    for kind in RecipientKind::ALL.iter().filter(|_| !edited.is_owner) {
        let channels = &shown.layer.channels;
        if channels.has(*kind) && channels.toggle(*kind).is_none() {
            layer["enabled"][kind.as_str()] = json!(false);
        }
    }
    Ok((layer, shown.version.tag(&app.platform, b"")))
}

/// `POST /console/notifications/edit`.
pub(crate) async fn save(State(app): State<App>, session: Session, form: Form) -> Outcome {
    let (organization, system) = (form.text("organization_id"), form.text("system_key"));
    let named = Some(organization.as_str()).filter(|id| !id.is_empty());
    let edited = Edited::of(&app, &session, named, Some(&system)).await?;
    let channels = fields::of_form(&form);
    let etag = form.text("seen");
    if form.has("more") {
        return Ok(render(&session, &edited, &Value::Object(channels), &etag, &form.text("more"), None));
    }
    let (layer, present) = stored(&app, &session, &edited).await?;
    let (body, prefix) = replaced(layer, &channels, edited.system.as_deref());
    let (sent, id) = (body.to_string(), edited.id.to_string());
    let context = form.conditional(&session.context);
    let error = match config::set(&app.alerts, &session.caller, &context, Some(&id), || Ok(sent.into())).await
    {
        Ok(saved) => return Ok(after(&session, &edited, &saved)),
        Err(error) => error,
    };
    let language = session.layout.language;
    let (wrong, etag) = match problems_by(language, &error, |key| key.strip_prefix(&*prefix).unwrap_or(key)) {
        Some(wrong) => (wrong, etag),
        // Sent once more, the form replaces what the other person has saved.
        None if is_outdated(&error) => (json!({"outdated": texts::find(language, "form_outdated")}), present),
        None => return Err(error.into()),
    };
    Ok(render(&session, &edited, &Value::Object(channels), &etag, "", Some(wrong)))
}

/// The answer to a save: a page with the warnings and the channels that are off, or the way back if there are none.
fn after(session: &Session, edited: &Edited, saved: &Saved) -> Response {
    if saved.warnings.is_empty() {
        return done(&edited.address(), "notifications_saved");
    }
    let closed =
        |closed: &Closed| json!({"word": closed.kind.as_str(), "system": closed.system_key, "by": closed.by});
    let values = json!({
        "name": edited.name,
        "organization_id": edited.id.to_string(),
        "href": edited.address(),
        // The page says itself which channels are off.
        "warnings": saved.warnings.iter().filter(|text| !text.contains(" is switched off")).collect::<Vec<_>>(),
        "closed": saved.closed.iter().map(closed).collect::<Vec<_>>(),
    });
    page::show(&session.layout, "notifications/saved.html", values)
}

/// `POST /console/notifications/switch-on`: one channel of the layer, or of its override for a system.
pub(crate) async fn switch_on(State(app): State<App>, session: Session, form: Form) -> Outcome {
    let (organization, system) = (form.text("organization_id"), form.text("system_key"));
    let named = Some(organization.as_str()).filter(|id| !id.is_empty());
    let edited = Edited::of(&app, &session, named, Some(&system)).await?;
    let (mut layer, etag) = stored(&app, &session, &edited).await?;
    let channels = match &edited.system {
        Some(key) => layer["systems"].as_array_mut().into_iter().flatten().find(|o| o["system_key"] == **key),
        None => Some(&mut layer),
    };
    let word = form.text("channel");
    let kind = RecipientKind::ALL.iter().find(|kind| kind.as_str() == word);
    let (Some(channels), Some(kind)) = (channels, kind) else {
        return Err(Error::bad_request("there is no such channel").into());
    };
    channels["enabled"][kind.as_str()] = json!(true);
    let (body, id) = (layer.to_string(), edited.id.to_string());
    let context = conditional_on(&session.context, &etag);
    let saved = config::set(&app.alerts, &session.caller, &context, Some(&id), || Ok(body.into())).await?;
    Ok(after(&session, &edited, &saved))
}

/// The whole layer with other toggles and lists, of the organization or of one system, and the path of these. An
/// override that says nothing is left out.
fn replaced(mut layer: Value, channels: &Map<String, Value>, system: Option<&str>) -> (Value, String) {
    let Some(key) = system else {
        for (name, value) in channels {
            layer[name] = value.clone();
        }
        return (layer, String::new());
    };
    let mut own = channels.clone();
    own.insert("system_key".to_owned(), json!(key));
    let says_nothing = channels.values().all(|value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(toggles) => toggles.values().all(Value::is_null),
        _ => true,
    });
    let mut systems = layer["systems"].as_array().cloned().unwrap_or_default();
    let index = systems.iter().position(|o| o["system_key"] == key).unwrap_or(systems.len());
    systems.retain(|o| o["system_key"] != key);
    if !says_nothing {
        systems.insert(index.min(systems.len()), Value::Object(own));
    }
    layer["systems"] = Value::Array(systems);
    (layer, format!("systems.{index}."))
}

fn render(
    session: &Session,
    edited: &Edited,
    channels: &Value,
    etag: &str,
    wanted: &str,
    wrong: Option<Value>,
) -> Response {
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "organization_id": edited.id.to_string(),
        "name": edited.name,
        "system": edited.system,
        "href": edited.address(),
        "seen": etag,
        "kinds": fields::shown(channels, wanted),
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    page::render(&session.layout, status, "notifications/edit.html", values)
}

/// `GET /console/notifications/remove`.
pub(crate) async fn ask(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let edited = Edited::of(&app, &session, params.text("organization_id"), None).await?;
    let (_, etag) = stored(&app, &session, &edited).await?;
    question(&session, &edited, &etag, false)
}

/// Asks whether the layer in this state is to be removed.
fn question(session: &Session, edited: &Edited, etag: &str, is_outdated: bool) -> Outcome {
    let list = texts::find(session.layout.language, "nav_notifications").unwrap_or_default();
    let condition = form_urlencoded::Serializer::new(String::new()).append_pair("seen", etag).finish();
    let outdated = texts::find(session.layout.language, "layer_outdated").filter(|_| is_outdated);
    Question {
        word: "delete",
        area: Some("layer"),
        name: &edited.name,
        crumbs: vec![Crumb::link(HERE, list), Crumb::link(edited.address(), &*edited.name)],
        action: format!("{}&{condition}", of("/remove", &edited.id.to_string())),
        back: edited.address(),
        details: outdated.into_iter().map(str::to_owned).collect(),
        types_name: false,
        is_wrong: is_outdated,
        other: None,
    }
    .page(session)
}

/// `POST /console/notifications/remove`.
pub(crate) async fn remove(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let edited = Edited::of(&app, &session, params.text("organization_id"), None).await?;
    let id = edited.id.to_string();
    let context = match params.one("seen") {
        Some(etag) => conditional_on(&session.context, etag),
        None => session.context.clone(),
    };
    match config::remove(&app.alerts, &session.caller, &context, Some(&id)).await {
        Err(error) if is_outdated(&error) => {
            let (_, etag) = stored(&app, &session, &edited).await?;
            return question(&session, &edited, &etag, true);
        }
        removed => removed?,
    };
    if session.caller.org().map(|own| own.id) == Some(edited.id) {
        return Ok(done(HERE, "layer_removed"));
    }
    Ok(done(&edited.address(), "layer_removed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_of_a_layer_is_replaced_and_the_others_stay() {
        let layer = json!({"enabled": {"email": true}, "email_recipients": [1], "systems": [
            {"system_key": "A", "email_recipients": [2]}, {"system_key": "B", "email_recipients": [3]}]});
        let empty = json!({"enabled": {"email": null}, "email_recipients": []});
        let some = json!({"enabled": {"email": null}, "email_recipients": [4]});
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let (whole, prefix) = replaced(layer.clone(), &map(&some), None);
        assert_eq!((&whole["email_recipients"], &whole["systems"]), (&json!([4]), &layer["systems"]));
        assert_eq!(prefix, "");
        let (whole, prefix) = replaced(layer.clone(), &map(&some), Some("B"));
        assert_eq!((&whole["systems"][1]["email_recipients"], prefix.as_str()), (&json!([4]), "systems.1."));
        assert_eq!(whole["email_recipients"], json!([1]));
        let (whole, _) = replaced(layer.clone(), &map(&empty), Some("A"));
        assert_eq!(whole["systems"], json!([layer["systems"][1]]));
        let (whole, prefix) = replaced(layer, &map(&some), Some("C"));
        assert_eq!((&whole["systems"][2]["system_key"], prefix.as_str()), (&json!("C"), "systems.2."));
    }
}
