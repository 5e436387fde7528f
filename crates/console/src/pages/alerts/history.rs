//! The history of alerts.

use super::{
    list::{SEVERITIES, handed_on, labelled, names, place_chips},
    shown::{address, severity},
};
use crate::{
    components::{
        list::{Address, Chip, Column, Filter, PAGE_SIZE, Pager},
        time::{When, rough},
    },
    failure::Outcome,
    page,
    session::Session,
};
use axum::extract::State;
use bailiwick_alerts::manage::{self, HistoryFilter, Record};
use bailiwick_app::App;
use bailiwick_web::{Params, alerts};
use http::Uri;
use serde_json::{Value, json};

const HERE: &str = "/console/alerts/history";

/// The query with whole days, as browsers send them, in the place of times: from the beginning of the first to the end
/// of the last.
fn with_times(query: &str) -> Params {
    let pairs = form_urlencoded::parse(query.as_bytes()).map(|(key, value)| {
        let is_day = value.len() == 10;
        let value = match &*key {
            "from_date" if is_day => format!("{value}T00:00:00Z"),
            "to_date" if is_day => format!("{value}T23:59:59.999999Z"),
            _ => value.into_owned(),
        };
        (key.into_owned(), value)
    });
    Params::parse(&form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}

/// `GET /console/alerts/history`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let query_string = with_times(uri.query().unwrap_or_default());
    let query = alerts::history(&query_string, PAGE_SIZE)?;
    let is_filtered = query.filter != HistoryFilter::default() || params.text("organization_id").is_some();
    let found = manage::history(&app.alerts, &session.caller, &alerts::named(&params), || Ok(query)).await?;
    let here = Address::of(HERE, uri.query());
    let language = session.layout.language;
    let catalogue = manage::catalogue(&app.alerts, &session.caller).await?;
    let catalogue = catalogue.into_iter().map(|entry| entry.name).collect();
    let filters = [
        Filter::of(
            "severity",
            "filter_severity",
            SEVERITIES.map(|w| labelled(language, "severity", w)),
            &here,
        ),
        Filter::of(
            "status",
            "filter_status",
            HistoryFilter::STATUSES.list().into_iter().map(|w| labelled(language, "alert_state", w)),
            &here,
        ),
        Filter::of("alertname", "filter_alert", names(catalogue, &params), &here),
    ];
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(place_chips(&app, &session, &here).await?);
    for (key, text) in [("from_date", "range_from"), ("to_date", "range_to")] {
        if let Some(day) = params.text(key) {
            chips.push(here.chip(key, text, day, Some(day.to_owned())));
        }
    }
    let columns = [
        Column::falling("severity", "column_severity", Some("severity"), &here),
        Column::falling("name", "column_alert", Some("alertname"), &here),
        Column::of("system", "column_system", None, &here),
        Column::falling("started", "column_started", Some("starts_at"), &here),
        Column::falling("ended", "column_ended", Some("ends_at"), &here),
        Column::of("lasted", "column_lasted", None, &here),
    ];
    let pager = Pager::of(&found, &here)?;
    let values = json!({
        "tab": "history",
        "rows": shown(&app, &session, &found.rows).await?,
        "columns": columns,
        "filters": filters,
        "range": {"from": params.text("from_date").unwrap_or_default(), "to": params.text("to_date").unwrap_or_default()},
        "chips": chips,
        "pager": pager,
        "search": params.text("search").unwrap_or_default(),
        "kept": handed_on(&params,
            &["organization_id", "include", "system_key", "sort_by", "sort_direction", "page_size"]),
        "bare": here.bare(),
        "is_filtered": is_filtered,
    });
    Ok(page::show(&session.layout, "alerts/history.html", values))
}

async fn shown(app: &App, session: &Session, rows: &[Record]) -> Outcome<Vec<Value>> {
    let (layout, language) = (&session.layout, session.layout.language);
    let keys: Vec<_> = rows.iter().map(|row| (row.organization_id, row.system_key.clone())).collect();
    let systems = manage::named_systems(&app.alerts, &keys).await?;
    let row = |(record, key): (&Record, &(bailiwick_domain::OrgId, String))| {
        let system = systems.get(key);
        json!({
            "href": address(record.organization_id, &record.fingerprint),
            "name": record.alertname,
            "severity": severity(record.severity.as_deref().unwrap_or_default()),
            "summary": record.summary,
            "is_firing": record.ends_at.is_none(),
            "system": system.map_or(record.system_key.as_str(), |system| system.name.as_str()),
            "organization": system.map(|system| system.organization.as_str()),
            "start": When::of(language, layout.now, record.starts_at),
            "end": When::maybe(language, layout.now, record.ends_at),
            "lasted": record.ends_at.map(|end| rough(language, end.since(record.starts_at))),
        })
    };
    Ok(rows.iter().zip(&keys).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::with_times;

    #[test]
    fn days_are_whole_and_times_stay() {
        let params = with_times("from_date=2026-03-04&to_date=2026-03-04&search=a%26b");
        assert_eq!(params.one("from_date"), Some("2026-03-04T00:00:00Z"));
        assert_eq!(params.one("to_date"), Some("2026-03-04T23:59:59.999999Z"));
        assert_eq!(params.one("search"), Some("a&b"));
        let exact = with_times("from_date=2026-03-04T10:00:00Z");
        assert_eq!(exact.one("from_date"), Some("2026-03-04T10:00:00Z"));
    }
}
