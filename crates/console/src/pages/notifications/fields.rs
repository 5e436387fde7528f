//! The fields of each kind of recipient, between the JSON of a layer and a form.

use crate::form::Form;
use bailiwick_alertmanager::{
    Severity,
    receivers::{Field, Input, RecipientKind},
};
use serde_json::{Map, Value, json};

/// Empty rows for further recipients.
const SPARE_ROWS: usize = 2;

/// The toggles and lists of a form, as JSON like that of the layer.
pub(super) fn of_form(form: &Form) -> Map<String, Value> {
    let mut channels = Map::new();
    let mut enabled = Map::new();
    for kind in RecipientKind::ALL.iter().copied() {
        let toggle = match form.text(&format!("enabled.{}", kind.as_str())).as_str() {
            "true" => json!(true),
            "false" => json!(false),
            _ => Value::Null,
        };
        enabled.insert(kind.as_str().to_owned(), toggle);
        let rows = form.text(&format!("{}.rows", kind.list_key())).parse().unwrap_or(0);
        let rows = (0..kind.max().min(rows)).filter_map(|row| recipient(form, kind, row));
        channels.insert(kind.list_key().to_owned(), rows.collect());
    }
    channels.insert("enabled".to_owned(), Value::Object(enabled));
    channels
}

/// A row; none when nothing is written in it.
fn recipient(form: &Form, kind: RecipientKind, at: usize) -> Option<Value> {
    let mut row = Map::new();
    let mut is_written = false;
    for Field { key, input, .. } in kind.fields() {
        let name = format!("{}.{at}.{key}", kind.list_key());
        let sent = form.text(&name);
        is_written |= matches!(input, Input::Line(_) | Input::Number) && !sent.trim().is_empty();
        let value = match input {
            Input::Severities => form.all(&name).into(),
            // A chat id is a number. The check of the layer refuses the zero that stands for anything else.
            Input::Number => json!(sent.trim().parse::<i64>().unwrap_or(0)),
            _ => json!(sent),
        };
        row.insert((*key).to_owned(), value);
    }
    is_written.then_some(Value::Object(row))
}

/// What the template shows of toggles and lists: for each kind its rows, with spare ones; `wanted` names a list that
/// gets more of them.
pub(super) fn shown(channels: &Value, wanted: &str) -> Vec<Value> {
    let row = |kind: RecipientKind, index: usize, recipient: &Value| {
        let cell = |Field { key, input, .. }: &Field| {
            let value = &recipient[*key];
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) if number.as_i64() != Some(0) => number.to_string(),
                _ => String::new(),
            };
            let chosen = |word: &str| value.as_array().is_some_and(|all| all.iter().any(|v| v == word));
            let severities: Vec<Value> = Severity::ALL
                .iter()
                .map(|s| json!({"word": s.as_str(), "is_on": chosen(s.as_str())}))
                .collect();
            let none: &[&str] = &[];
            let (input, longest, words) = match input {
                Input::Line(longest) => ("line", *longest, none),
                Input::Number => ("line", 20, none),
                Input::Severities => ("severities", 0, none),
                Input::Language => ("language", 0, none),
                Input::Choice(words) => ("choice", 0, *words),
            };
            let name = format!("{}.{index}.{key}", kind.list_key());
            json!({"name": name, "key": key, "input": input, "longest": longest,
                "words": words, "value": text, "severities": severities})
        };
        kind.fields().iter().map(cell).collect::<Vec<_>>()
    };
    let shown = |kind: RecipientKind| {
        let list = channels[kind.list_key()].as_array().cloned().unwrap_or_default();
        let spare = if wanted == kind.list_key() { SPARE_ROWS * 3 } else { SPARE_ROWS };
        let count = (list.len() + spare).min(kind.max());
        let rows: Vec<_> =
            (0..count).map(|index| row(kind, index, list.get(index).unwrap_or(&Value::Null))).collect();
        let toggle = match channels["enabled"][kind.as_str()].as_bool() {
            Some(true) => "true",
            Some(false) => "false",
            None => "",
        };
        // The person goes on in the first row that is new.
        let first = kind.fields().first().filter(|_| wanted == kind.list_key());
        let focus = first.map(|field| format!("{}.{}.{}", kind.list_key(), list.len(), field.key));
        json!({"word": kind.as_str(), "list": kind.list_key(), "rows": rows, "count": count, "focus": focus,
            "is_full": count == kind.max(), "most": kind.max(), "toggle": toggle, "toggles": ["", "true", "false"]})
    };
    RecipientKind::ALL.iter().copied().map(shown).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail anywhere")]

    use super::*;
    use bailiwick_alertmanager::config::Layer;

    /// Every field of every kind is in its form: what a layer says comes back from it.
    #[test]
    fn a_form_that_is_sent_back_says_the_same() {
        let layer = json!({
            "enabled": {"email": true, "webhook": null, "telegram": false, "slack": true, "teams": null, "pagerduty": null},
            "email_recipients": [{"address": "a@example.org", "severities": ["critical", "info"], "language": "it", "format": "plain"}],
            "webhook_recipients": [{"name": "hook", "url": "https://example.org/h", "severities": []}],
            "telegram_recipients": [{"bot_token": "1:a", "chat_id": -5, "severities": [], "language": "en"}],
            "slack_recipients": [{"name": "ops", "url": "https://example.org/s", "severities": [], "language": "it"}],
            "teams_recipients": [],
            "pagerduty_recipients": [{"name": "duty", "routing_key": "k".repeat(32), "region": "eu", "severities": [], "language": "en"}],
        });
        let parsed: Layer = serde_json::from_value(layer.clone()).unwrap();
        let whole = serde_json::to_value(&parsed.channels).unwrap();
        assert_eq!(whole, layer, "all kinds are here");
        let mut sent = Vec::new();
        for kind in shown(&layer, "") {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            sent.push((format!("enabled.{}", text(&kind["word"])), text(&kind["toggle"])));
            sent.push((format!("{}.rows", text(&kind["list"])), kind["count"].to_string()));
            for cell in kind["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap()) {
                let name = text(&cell["name"]);
                if cell["input"] != "severities" {
                    sent.push((name.clone(), text(&cell["value"])));
                }
                let on = cell["severities"].as_array().unwrap().iter().filter(|s| s["is_on"] == true);
                let on = on.filter(|_| cell["input"] == "severities");
                sent.extend(on.map(|s| (name.clone(), text(&s["word"]))));
            }
        }
        assert_eq!(Value::Object(of_form(&Form::of(sent))), layer);
    }
}
