//! The audit record: each change with the person who made it and the object before and after.

use super::tabs;
use crate::{
    components::{
        list::{Address, Chip},
        time::When,
    },
    failure::Outcome,
    layout::Layout,
    links, page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::audit::{self, AuditChange};
use bailiwick_domain::exact::Exact;
use bailiwick_web::{Params, audit_query};
use http::Uri;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rows of a page unless the address says otherwise.
const PAGE_SIZE: u64 = 50;
/// Characters of a value that are shown.
const VALUE_CHARS: usize = 2_000;

/// A field that an action has changed.
#[derive(Debug, Serialize)]
struct Change {
    field: String,
    before: Option<String>,
    after: Option<String>,
}

/// `GET /console/timeline/audit`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let page = audit::list(&app.directory, &session.caller, audit_query(&params, PAGE_SIZE)).await?;
    let here = Address::of("/console/timeline/audit", uri.query());
    let chip = |(key, text): (&'static str, &'static str)| -> Option<Chip> {
        let value = params.text(key)?;
        let actors = page.entries.iter().filter_map(|entry| entry.actor.as_ref());
        let mut named = actors.filter(|actor| key == "actor_id" && actor.id.to_string() == value);
        let label = named.find_map(|actor| actor.name.clone()).unwrap_or_else(|| value.to_owned());
        Some(here.with("cursor", None).chip(key, text, value, Some(label)))
    };
    let chips: Vec<Chip> = [
        ("object_id", "filter_object"),
        ("actor_id", "filter_actor"),
        ("action", "filter_action"),
        ("from_date", "filter_from"),
        ("to_date", "filter_to"),
    ]
    .into_iter()
    .filter_map(chip)
    .collect();
    let rows: Vec<Value> = page.entries.iter().map(|entry| row(&session, entry, &here)).collect();
    let sent = |key| params.text(key).unwrap_or_default();
    let hidden_fields: Vec<(&str, &str)> = ["object_id", "actor_id", "page_size"]
        .into_iter()
        .filter_map(|key| Some((key, params.text(key)?)))
        .collect();
    let values = json!({
        "tab": "audit",
        "tabs": tabs(&session.caller),
        "rows": rows,
        "chips": chips,
        "bare": here.bare(),
        "kept": hidden_fields,
        "action": sent("action"),
        "from": sent("from_date"),
        "to": sent("to_date"),
        "is_first": params.text("cursor").is_none(),
        "newest": here.with("cursor", None).text(),
        "older": page.next.map(|next| here.with("cursor", Some(&next)).text()),
    });
    Ok(page::show(&session.layout, "events/audit.html", values))
}

fn row(session: &Session, entry: &AuditChange, here: &Address) -> Value {
    let layout = &session.layout;
    let first = here.with("cursor", None);
    let person = |person: &audit::Named| {
        json!({
            "name": person.name.clone().unwrap_or_else(|| person.id.to_string()),
            "email": person.email,
            "href": first.with("actor_id", Some(&person.id.to_string())).text(),
        })
    };
    let object = entry.object_id.map(|id| id.to_string());
    let is_gone = entry.action.ends_with(".destroy");
    json!({
        "at": When::of(layout.language, layout.now, entry.at),
        "actor": entry.actor.as_ref().map(person),
        "acting_for": entry.acting_for.as_ref().map(person),
        "organization": entry.organization.as_ref().and_then(|(_, name)| name.clone()),
        "action": entry.action,
        "action_href": first.with("action", Some(&entry.action)).text(),
        "kind": kind(layout, &entry.object_type),
        "name": name(entry),
        "object": object,
        "object_href": object.as_deref().map(|id| first.with("object_id", Some(id)).text()),
        "page": object
            .as_deref()
            .filter(|_| !is_gone)
            .and_then(|id| links::of_kind(&session.caller, &entry.object_type, id)),
        "changes": changes(entry),
        "request": entry.request_id,
    })
}

fn kind(layout: &Layout, word: &str) -> String {
    texts::find(layout.language, &format!("topic_{word}"))
        .map_or_else(|| word.replace('_', " "), str::to_owned)
}

/// The object's name, as the row has kept it.
fn name(entry: &AuditChange) -> Option<String> {
    const KEYS: [&str; 4] = ["name", "email", "module_id", "system_key"];
    let states = [&entry.after, &entry.before].into_iter().flatten();
    let named = states.flat_map(|state| KEYS.into_iter().filter_map(|key| state[key].as_str()));
    named.filter(|name| !name.is_empty()).map(str::to_owned).next()
}

/// The fields that differ.
fn changes(entry: &AuditChange) -> Vec<Change> {
    let (before, after) = (fields(entry.before.as_ref()), fields(entry.after.as_ref()));
    let names: BTreeSet<&String> = before.iter().chain(&after).map(|(name, _)| name).collect();
    let value_of = |state: &[(String, Value)], name: &str| {
        state.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    };
    let change = |name: &String| {
        let (before, after) = (value_of(&before, name), value_of(&after, name));
        let shown_value = |value: &Option<Value>| value.as_ref().filter(|value| !value.is_null()).map(shown);
        (before != after).then(|| Change {
            field: name.clone(),
            before: shown_value(&before),
            after: shown_value(&after),
        })
    };
    names.into_iter().filter_map(change).filter(|change| change.before != change.after).collect()
}

fn fields(state: Option<&Value>) -> Vec<(String, Value)> {
    match state {
        Some(Value::Object(fields)) => {
            fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![("value".to_owned(), other.clone())],
    }
}

/// A value for a reader: text without its quotes, the rest as JSON.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(&Exact(value)).unwrap_or_default(),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;
    use bailiwick_domain::Ts;
    use uuid::Uuid;

    #[test]
    fn only_fields_that_differ_are_shown() {
        let entry = AuditChange {
            id: Uuid::nil(),
            at: Ts(0),
            actor: None,
            acting_for: None,
            organization: None,
            action: "system.update".to_owned(),
            object_type: "system".to_owned(),
            object_id: None,
            before: Some(json!({"name": "Gate", "notes": "", "same": [1]})),
            after: Some(json!({"name": "Gate 2", "same": [1], "notes": null, "type": "ns8"})),
            request_id: None,
        };
        let changes: Vec<_> = changes(&entry).into_iter().map(|c| (c.field, c.before, c.after)).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            changes,
            [
                ("name".to_owned(), some("Gate"), some("Gate 2")),
                ("notes".to_owned(), some(""), None),
                ("type".to_owned(), None, some("ns8"))
            ]
        );
        assert_eq!(name(&entry), some("Gate 2"));
    }
}
