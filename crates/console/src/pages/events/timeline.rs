//! Events as a time line, the newest first.

use super::tabs;
use crate::{
    components::{
        list::{Address, Chip, Filter, PAGE_SIZE, Pager},
        organizations::{organization_chips, reach},
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
use bailiwick_domain::SortDirection;
use bailiwick_events::{self as events, ListQuery, Stored, kinds::GROUPS};
use bailiwick_policy::Caller;
use bailiwick_web::{Params, alerts::DESCENDANTS};
use http::Uri;
use serde::Serialize;
use serde_json::{Value, json};

/// The events of a day.
#[derive(Debug, Serialize)]
struct Day {
    day: String,
    rows: Vec<Value>,
}

/// `GET /console/timeline`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let values = |key| params.many(key).into_iter().filter(|value: &String| !value.is_empty()).collect();
    let query = ListQuery {
        page: params.page(PAGE_SIZE),
        types: values("types"),
        organization_id: values("organization_id"),
        with_descendants: params.one("include") == Some(DESCENDANTS),
        object_id: values("object_id"),
        after: None,
        direction: SortDirection::Desc,
    };
    let found = events::list(&app.events, &session.caller, query).await?.page;
    let here = Address::of("/console/timeline", uri.query());
    let filters: Vec<Filter> = [topics(&session, &here)].into_iter().filter(Filter::has_choices).collect();
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(other_chips(&app, &session, &here).await?);
    let values = json!({
        "tab": "timeline",
        "tabs": tabs(&session.caller),
        "days": days(&session.layout, &session.caller, &found.rows),
        "filters": filters,
        "is_filtered": !chips.is_empty(),
        "chips": chips,
        "pager": Pager::of(&found, &here)?,
        "kept": hidden_fields(&params),
        "bare": here.bare(),
        "reach": reach(&session, &here),
    });
    Ok(page::show(&session.layout, "events/timeline.html", values))
}

/// Topics that the person may read of.
fn topics(session: &Session, here: &Address) -> Filter {
    let language = session.layout.language;
    let may = |group: &&events::kinds::Group| session.caller.holds(group.permission);
    let choice = |group: &events::kinds::Group| {
        let word = group.topic.as_str();
        (format!("{word}.*"), texts::find(language, &format!("topic_{word}")).unwrap_or(word).to_owned())
    };
    Filter::of("types", "filter_topic", GROUPS.iter().filter(may).map(choice), here)
}

fn days(layout: &Layout, caller: &Caller, events: &[Stored]) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for event in events {
        let day: String = event.at.rfc3339(0).chars().take(10).collect();
        if days.last().is_none_or(|last| last.day != day) {
            days.push(Day { day, rows: Vec::new() });
        }
        if let Some(last) = days.last_mut() {
            last.rows.push(row(layout, caller, event));
        }
    }
    days
}

fn row(layout: &Layout, caller: &Caller, event: &Stored) -> Value {
    let (topic, happening) = event.kind.split_once('.').unwrap_or((event.kind.as_str(), ""));
    let text = |key: &str| event.data[key].as_str().filter(|text| !text.is_empty());
    let word = |key: &str, otherwise: &str| {
        texts::find(layout.language, key).map_or_else(|| otherwise.to_owned(), str::to_owned)
    };
    let changed: Vec<&str> =
        event.data["changed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    json!({
        "topic": topic,
        "topic_name": word(&format!("topic_{topic}"), topic),
        "happened": word(&format!("happened_{happening}"), happening),
        "name": text("name").or(text("alertname")).or(text("system_name")).or(text("module_id")),
        "href": event.subject.as_deref().and_then(|subject| links::of_subject(caller, subject)),
        "about": text("system_name").filter(|_| matches!(topic, "application" | "alert")),
        "organization": text("organization_name"),
        "severity": text("severity").filter(|word| matches!(*word, "critical" | "warning" | "info")),
        "changed": changed.join(", "),
        "at": When::of(layout.language, layout.now, event.at),
    })
}

/// Filters that come with links and have no choice of their own on the page.
async fn other_chips(app: &App, session: &Session, here: &Address) -> Outcome<Vec<Chip>> {
    let mut chips = organization_chips(app, session, here, "column_organization").await?;
    chips.extend(here.value_chips("object_id", "filter_object"));
    Ok(chips)
}

fn hidden_fields(params: &Params) -> Vec<(&'static str, String)> {
    let keys = ["organization_id", "include", "object_id", "page_size"];
    let values = |key: &'static str| params.many(key).into_iter().map(move |value| (key, value));
    keys.into_iter().flat_map(values).filter(|(_, value)| !value.is_empty()).collect()
}
