//! The list of active alerts, one by one or grouped, with the interface's filters in the address.

use super::shown::shown;
use crate::{
    components::{
        list::{Address, Chip, Column, Filter, PAGE_SIZE, Pager},
        organizations::{organization_chips, reach},
        time::When,
    },
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_alerts::manage::{self, ActiveFilter, AlertQuery, Group, GroupBy, NamedSystem};
use bailiwick_app::App;
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_web::{Language, Params, alerts};
use http::Uri;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(super) const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];
const STATES: [&str; 2] = ["active", "suppressed"];
const HERE: &str = "/console/alerts";

/// `GET /console/alerts`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let query = AlertQuery { with_receivers: false, ..alerts::active(&params, PAGE_SIZE) };
    let is_filtered = query.filter != ActiveFilter::default() || params.text("organization_id").is_some();
    let named = alerts::named(&params);
    let group_by = params.one("group").and_then(|word| GroupBy::WORDS.parse(word));
    let here = Address::of(HERE, uri.query());
    let (mut rows, mut groups) = (Vec::new(), Vec::new());
    let (pager, warnings) = match group_by {
        Some(group_by) => {
            let result = manage::groups(&app.alerts, &session.caller, &named, query, group_by).await?;
            let pager = Pager::of(&result.page, &here)?;
            groups = shown_groups(&app, &session, result.page.rows, group_by, &here).await?;
            (pager, result.warnings)
        }
        None => {
            let result = manage::active(&app.alerts, &session.caller, &named, query).await?;
            rows = result.page.rows.iter().map(|row| shown(&session.layout, row)).collect();
            (Pager::of(&result.page, &here)?, result.warnings)
        }
    };
    let filters = filters(&app, &session, &params, &here).await?;
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(place_chips(&app, &session, &here).await?);
    let is_customer = session.caller.org_type() == Some(OrgType::Customer);
    let grouped: Vec<Value> = std::iter::once("")
        .chain(GroupBy::WORDS.list())
        .filter(|word| !is_customer || *word != "organization")
        .map(|word| {
            let address = here.with("sort_by", None).with("sort_direction", None);
            let address = address.with("group", Some(word).filter(|word| !word.is_empty()));
            let is_here = group_by == GroupBy::WORDS.parse(word);
            json!({"text": if word.is_empty() { "group_none".to_owned() } else { format!("group_{word}") },
                "href": address.text(), "is_here": is_here})
        })
        .collect();
    let values = json!({
        "tab": "active",
        "rows": rows,
        "groups": groups,
        "group": params.one("group").filter(|_| group_by.is_some()),
        "grouped": grouped,
        "reach": reach(&session, &here),
        "columns": columns(&here),
        "filters": filters,
        "chips": chips,
        "pager": pager,
        "warnings": warnings,
        "search": params.text("search").unwrap_or_default(),
        "kept": hidden_fields(&params),
        "bare": here.bare(),
        "is_filtered": is_filtered,
    });
    Ok(page::show(&session.layout, "alerts/list.html", values))
}

fn columns(here: &Address) -> [Column; 5] {
    [
        Column::falling("severity", "column_severity", Some("severity"), here),
        Column::falling("name", "column_alert", Some("alertname"), here),
        Column::of("system", "column_system", None, here),
        Column::falling("assigned", "column_taken", Some("assigned_user_name"), here),
        Column::falling("since", "column_since", Some("starts_at"), here),
    ]
}

/// A word with its text `<kind>_<word>`.
pub(super) fn labelled(language: Language, kind: &str, word: &str) -> (String, String) {
    let label = texts::find(language, &format!("{kind}_{word}")).unwrap_or(word);
    (word.to_owned(), label.to_owned())
}

/// The names of alerts that can be chosen: those that there are, and those that are asked for.
pub(super) fn names(mut there: Vec<String>, params: &Params) -> Vec<(String, String)> {
    there.extend(params.many("alertname").into_iter().filter(|name| !name.is_empty()));
    there.sort_unstable();
    there.dedup();
    there.into_iter().map(|name| (name.clone(), name)).collect()
}

async fn filters(app: &App, session: &Session, params: &Params, here: &Address) -> Outcome<Vec<Filter>> {
    let language = session.layout.language;
    let there = manage::active_names(&app.alerts, &session.caller, &alerts::named(params)).await?;
    let mut takers = vec![labelled(language, "taken", ActiveFilter::NOBODY)];
    takers.extend(session.caller.user_id().map(|id| (id.to_string(), labelled(language, "taken", "me").1)));
    let all = vec![
        Filter::of(
            "severity",
            "filter_severity",
            SEVERITIES.map(|w| labelled(language, "severity", w)),
            here,
        ),
        Filter::of("status", "filter_status", STATES.map(|w| labelled(language, "alert_state", w)), here),
        Filter::of("assigned_user_id", "filter_taken", takers, here),
        Filter::of("alertname", "filter_alert", names(there, params), here),
    ];
    Ok(all.into_iter().filter(Filter::has_choices).collect())
}

/// Filters by organization and system: they come with links.
pub(super) async fn place_chips(app: &App, session: &Session, here: &Address) -> Outcome<Vec<Chip>> {
    let mut chips = organization_chips(app, session, here, "column_organization").await?;
    chips.extend(here.value_chips("system_key", "column_system"));
    Ok(chips)
}

async fn shown_groups(
    app: &App,
    session: &Session,
    groups: Vec<Group>,
    group_by: GroupBy,
    here: &Address,
) -> Outcome<Vec<Value>> {
    let mut systems: HashMap<(OrgId, String), NamedSystem> = HashMap::new();
    if group_by == GroupBy::System {
        let keys =
            groups.iter().filter_map(|group| Some((group.organization.as_ref()?.0, group.key.clone())));
        systems = manage::named_systems(&app.alerts, &keys.collect::<Vec<_>>()).await?;
    }
    let list = here.with("group", None);
    let row = |group: &Group| {
        let (id, organization) = group.organization.clone().unzip();
        let mut address = list.clone();
        if let Some(id) = id {
            address = address.with("organization_id", Some(&id.to_string())).with("include", None);
        }
        let name = match group_by {
            GroupBy::Organization => organization.clone().unwrap_or_default(),
            GroupBy::System => {
                address = address.with("system_key", Some(&group.key));
                let system = id.and_then(|id| systems.get(&(id, group.key.clone())));
                system.map_or_else(|| group.key.clone(), |system| system.name.clone())
            }
            GroupBy::Name => {
                address = address.with("alertname", Some(&group.key));
                group.key.clone()
            }
        };
        json!({
            "name": name,
            "organization": organization.filter(|_| group_by == GroupBy::System),
            "href": address.text(),
            "total": group.total,
            "critical": group.critical,
            "warning": group.warning,
            "info": group.total.saturating_sub(group.critical).saturating_sub(group.warning),
            "first": When::of(session.layout.language, session.layout.now, group.first),
        })
    };
    Ok(groups.iter().map(row).collect())
}

/// What the form of the filters hands on as it is.
fn hidden_fields(params: &Params) -> Vec<(&'static str, String)> {
    let keys =
        ["group", "organization_id", "include", "system_key", "sort_by", "sort_direction", "page_size"];
    handed_on(params, &keys)
}

/// The values of these keys that are not empty.
pub(super) fn handed_on(params: &Params, keys: &[&'static str]) -> Vec<(&'static str, String)> {
    let values = |key: &'static str| params.many(key).into_iter().map(move |value| (key, value));
    keys.iter().flat_map(|key| values(key)).filter(|(_, value)| !value.is_empty()).collect()
}
