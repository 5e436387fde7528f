//! The applications found on a system.

use super::{address, head};
use crate::{
    components::{
        list::{Address, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    links, page,
    pages::applications::name_of,
    session::Session,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::{SortDirection, SystemId};
use bailiwick_fleet::applications::{
    self, ApplicationFilter, ApplicationOrder, ApplicationQuery, ApplicationRecord,
};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::{Value, json};

/// `GET /console/systems/{id}/applications`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<SystemId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let record = head::load(&app, &session, id).await?;
    let query = ApplicationQuery {
        filter: ApplicationFilter { systems: Some(vec![record.system.id]), ..ApplicationFilter::default() },
        order: Some((ApplicationOrder::DisplayName, SortDirection::Asc)),
        page: params.page(PAGE_SIZE),
    };
    let listed = applications::list(&app.fleet, &session.caller, query).await?;
    let here = Address::of(&format!("{}/applications", address(record.system.id)), uri.query());
    let row = |application: &ApplicationRecord| -> Value {
        json!({
            "href": links::application(application.id),
            "name": name_of(application),
            "module": application.module_id,
            "product": application.name.as_deref().unwrap_or(&application.instance_of),
            "version": application.version,
            "node": application.node_label.clone().or_else(|| application.node_id.map(|id| id.to_string())),
            "organization": application.organization.as_ref().map(|organization| organization.name.as_str()),
            "has_errors": application.has_errors,
            "seen": When::maybe(session.layout.language, session.layout.now, application.last_inventory_at),
        })
    };
    let values = json!({
        "head": head::head(&app, &session, &record, "applications").await?,
        "rows": listed.rows.iter().map(row).collect::<Vec<_>>(),
        "pager": Pager::of(&listed, &here)?,
    });
    Ok(page::show(&session.layout, "systems/applications.html", values))
}
