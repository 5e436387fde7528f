//! The active alerts of a system.

use super::{address, head};
use crate::{
    components::{
        list::{Address, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    look::Look,
    page,
    session::Guest,
};
use axum::extract::State;
use bailiwick_alerting::listing::AlertState;
use bailiwick_alerts::manage::{self, ActiveAlert, ActiveFilter, ActiveOrder, AlertQuery};
use bailiwick_app::App;
use bailiwick_domain::{SortDirection, SystemId};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::{Value, json};

/// `GET /console/systems/{id}/alerts`.
pub(crate) async fn show(
    State(app): State<App>,
    guest: Guest,
    PathId(id): PathId<SystemId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let found = head::load(&app, &guest, id).await?;
    let query = AlertQuery {
        statuses: None,
        filter: ActiveFilter::default(),
        order: ActiveOrder::Severity,
        direction: SortDirection::Desc,
        page: params.page(PAGE_SIZE),
    };
    let listed = manage::active_of_system(&app, &guest.caller, id, query).await?;
    let here = Address::of(&format!("{}/alerts", address(found.system.id)), uri.query());
    let values = json!({
        "head": head::head(&app, &guest, &found, "alerts").await?,
        "pager": Pager::of(&listed, &here),
        "rows": listed.rows.iter().map(|row| alert(&guest.look, row)).collect::<Vec<_>>(),
        "is_registered": found.system.registered_at.is_some(),
    });
    Ok(page::show(&guest.look, "systems/alerts.html", values))
}

/// An alert for a reader.
pub(crate) fn alert(look: &Look, active: &ActiveAlert) -> Value {
    let ActiveAlert { alert, assigned } = active;
    let language = look.language.code();
    let text = |name: &str| {
        let own = alert.annotations.value(&format!("{name}_{language}"));
        if own.is_empty() { alert.annotations.value(name).to_owned() } else { own.to_owned() }
    };
    let severity = match alert.labels.value("severity") {
        known @ ("critical" | "warning" | "info") => known,
        _ => "info",
    };
    json!({
        "name": alert.labels.value("alertname"),
        "severity": severity,
        "summary": text("summary"),
        "description": text("description"),
        "since": When::of(look.language, look.now, alert.starts_at.to_ts()),
        "is_silenced": alert.status.state == AlertState::Suppressed,
        "assigned": assigned.as_ref().map(|assigned| assigned.user_name.as_str()),
        "system": alert.labels.value("system_name"),
        "organization": alert.labels.value("organization_name"),
        "system_id": alert.labels.value("system_id"),
    })
}
