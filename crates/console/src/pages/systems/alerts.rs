//! The active alerts of a system.

use super::{address, head};
use crate::{
    components::list::{Address, PAGE_SIZE, Pager},
    failure::Outcome,
    page,
    pages::alerts::shown,
    session::Session,
};
use axum::extract::State;
use bailiwick_alerts::manage::{self, ActiveFilter, ActiveOrder, AlertQuery};
use bailiwick_app::App;
use bailiwick_domain::{SortDirection, SystemId};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::json;

/// `GET /console/systems/{id}/alerts`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<SystemId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    let query = AlertQuery {
        filter: ActiveFilter::default(),
        order: ActiveOrder::Severity,
        direction: SortDirection::Desc,
        page: params.page(PAGE_SIZE),
        with_receivers: false,
    };
    let listed = manage::active_of_system(&app.alerts, &session.caller, id, query).await?;
    let here = Address::of(&format!("{}/alerts", address(record.system.id)), uri.query());
    let values = json!({
        "head": head::head(&app, &session, &record, "alerts").await?,
        "pager": Pager::of(&listed, &here)?,
        "rows": listed.rows.iter().map(|row| shown(&session.layout, row)).collect::<Vec<_>>(),
        "is_registered": record.system.registered_at.is_some(),
    });
    Ok(page::show(&session.layout, "systems/alerts.html", values))
}
