//! The list of systems, with the interface's filters in the address.

use super::address;
use crate::{
    components::{
        creators::creator_filter,
        list::{Address, Chip, Column, Filter, PAGE_SIZE, Pager, hidden_fields, is_filtered},
        organizations::organization_chips,
        time::When,
        versions,
    },
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::creators::Of;
use bailiwick_domain::{Page, System};
use bailiwick_fleet::systems;
use bailiwick_policy::{Action, Resource, gate};
use bailiwick_web::{Language, Params, asked, download, system_query};
use http::Uri;
use serde_json::{Value, json};

const STATUSES: [&str; 6] = ["active", "inactive", "unknown", "suspended", "no_inventory", "deleted"];

/// `GET /console/systems`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let params = params.filled();
    let found = systems::list(&app.fleet, &session.caller, system_query(&params, PAGE_SIZE)).await?;
    let here = Address::of("/console/systems", uri.query());
    let filters = filters(&app, &session, &here).await?;
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(other_chips(&app, &session, &here).await?);
    let columns = [
        Column::of("name", "column_name", Some("name"), &here),
        Column::of("status", "column_status", Some("status"), &here),
        Column::of("product", "column_product", Some("type"), &here),
        Column::of("organization", "column_organization", Some("organization_name"), &here),
        Column::of("seen", "column_seen", None, &here),
        Column::of("created", "column_created", Some("created_at"), &here),
    ];
    let pager = Pager::of(&found, &here)?;
    let values = json!({
        "rows": rows(&session, found),
        "columns": columns,
        "kept": hidden_fields(systems::FILTERS, &filters, &here),
        "filters": filters.into_iter().filter(Filter::has_choices).collect::<Vec<_>>(),
        "chips": chips,
        "pager": pager,
        "search": params.text("search").unwrap_or_default(),
        "bare": here.bare(),
        "is_filtered": is_filtered(systems::FILTERS, &here),
        "may_create": gate(&session.caller, Action::Create, Resource::Systems).is_ok(),
        "csv": here.at("/console/systems/export").with("format", Some("csv")).text(),
        "pdf": here.at("/console/systems/export").with("format", Some("pdf")).text(),
    });
    Ok(page::show(&session.layout, "systems/list.html", values))
}

/// `GET /console/systems/export`.
pub(crate) async fn export(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let query = system_query(&params, PAGE_SIZE);
    Ok(download(
        systems::export(&app.fleet, &session.caller, query, asked(&params, systems::FILTERS)).await?,
    )?)
}

fn rows(session: &Session, page: Page<System>) -> Vec<Value> {
    let layout = &session.layout;
    let now = layout.now;
    let when = |at| When::maybe(layout.language, now, at);
    let row = |system: System| {
        let is_deleted = system.deleted.is_set();
        // Deleted systems have no page of their own; they can be restored or removed for good.
        let href = if is_deleted { format!("{}/restore", address(system.id)) } else { address(system.id) };
        json!({
            "href": href,
            "name": system.name,
            "fqdn": system.fqdn,
            "status": system.status().as_str(),
            "product": product(layout.language, system.system_type.as_deref()),
            "version": system.version,
            "organization": system.organization.name,
            "seen": when(system.last_heartbeat),
            "created": when(Some(system.created_at)),
        })
    };
    page.rows.into_iter().map(row).collect()
}

/// What people call a product.
pub(super) fn product(language: Language, word: Option<&str>) -> String {
    let Some(word) = word else { return String::new() };
    texts::find(language, &format!("product_{word}")).map_or_else(|| word.to_owned(), str::to_owned)
}

async fn filters(app: &App, session: &Session, here: &Address) -> Outcome<[Filter; 4]> {
    let language = session.layout.language;
    let mut products = systems::products(&app.fleet, &session.caller).await?;
    products.values_mut().for_each(|all| all.sort_by(|a, b| versions::compare(b, a)));
    let status = |word: &str| {
        let label = texts::find(language, &format!("status_{word}")).unwrap_or(word).to_owned();
        (word.to_owned(), label)
    };
    let types: Vec<(String, String)> =
        products.keys().map(|word| (word.clone(), product(language, Some(word)))).collect();
    let version = |(word, versions): (&String, &Vec<String>)| -> Vec<(String, String)> {
        let name = product(language, Some(word));
        versions.iter().map(|v| (format!("{word}:{v}"), format!("{name} {v}"))).collect()
    };
    Ok([
        Filter::of("status", "filter_status", STATUSES.map(status), here),
        Filter::of("type", "filter_product", types, here),
        Filter::of("version", "filter_version", products.iter().flat_map(version), here),
        creator_filter(app, session, Of::Systems, here).await?,
    ])
}

/// Filters that come with links and have no choice of their own on the page.
async fn other_chips(app: &App, session: &Session, here: &Address) -> Outcome<Vec<Chip>> {
    let mut chips = organization_chips(app, session, here, "column_organization").await?;
    for (key, text) in [("system_key", "label_key"), ("name", "column_name")] {
        chips.extend(here.value_chips(key, text));
    }
    Ok(chips)
}
