//! The list of applications, with the interface's filters in the address.

use super::{address, name_of};
use crate::{
    components::{
        list::{Address, Chip, Column, Filter, MOST_CHIPS, PAGE_SIZE, Pager, hidden_fields, is_filtered},
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
use bailiwick_domain::Page;
use bailiwick_fleet::{
    applications::{self, ApplicationRecord, ModuleCount},
    systems,
};
use bailiwick_web::{Language, Params, application_query};
use http::Uri;
use serde_json::{Value, json};

const STATUSES: [&str; 3] = ["assigned", "unassigned", "error"];

/// `GET /console/applications`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let language = session.layout.language;
    let params = params.filled();
    let found =
        applications::list(&app.fleet, &session.caller, application_query(&params, PAGE_SIZE)).await?;
    let here = Address::of("/console/applications", uri.query());
    let filters = filters(language, &applications::kinds(&app.fleet, &session.caller).await?, &here);
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(other_chips(&app, &session, &here).await?);
    let columns = [
        Column::of("name", "column_application", Some("display_name"), &here),
        Column::of("status", "column_status", Some("status"), &here),
        Column::of("product", "column_type", Some("instance_of"), &here),
        Column::of("system", "column_system", Some("system_name"), &here),
        Column::of("organization", "column_assigned", Some("organization_name"), &here),
        Column::of("seen", "column_seen", Some("last_inventory_at"), &here),
    ];
    let pager = Pager::of(&found, &here)?;
    let values = json!({
        "rows": rows(&session, &found),
        "columns": columns,
        "filters": filters,
        "chips": chips,
        "pager": pager,
        "search": params.text("search").unwrap_or_default(),
        "kept": hidden_fields(applications::FILTERS, &filters, &here),
        "bare": here.bare(),
        "is_filtered": is_filtered(applications::FILTERS, &here),
        "tab": "list",
    });
    Ok(page::show(&session.layout, "applications/list.html", values))
}

fn rows(session: &Session, page: &Page<ApplicationRecord>) -> Vec<Value> {
    let layout = &session.layout;
    let row = |application: &ApplicationRecord| {
        json!({
            "href": address(application.id),
            "name": name_of(application),
            "module": application.module_id,
            "status": application.status,
            "has_errors": application.has_errors,
            "product": application.name.as_deref().unwrap_or(&application.instance_of),
            "version": application.version,
            "system": application.system_name,
            "organization": application.organization.as_ref().map(|organization| organization.name.as_str()),
            "seen": When::maybe(layout.language, layout.now, application.last_inventory_at),
        })
    };
    page.rows.iter().map(row).collect()
}

fn filters(language: Language, kinds: &[ModuleCount], here: &Address) -> Vec<Filter> {
    let status = |word: &str| {
        let label = texts::find(language, &format!("application_{word}")).unwrap_or(word).to_owned();
        (word.to_owned(), label)
    };
    let mut types: Vec<(String, String)> =
        kinds.iter().map(|kind| (kind.instance_of.clone(), kind.name.clone())).collect();
    types.sort_by_key(|(_, name)| name.to_lowercase());
    let all = [
        Filter::of("status", "filter_status", STATUSES.map(status), here),
        Filter::of("type", "filter_type", types, here),
        Filter::of("version", "filter_version", versions(kinds, here), here),
    ];
    all.into_iter().filter(Filter::has_choices).collect()
}

/// The versions of the types that are asked for, or of all: by type, the newest first.
fn versions(kinds: &[ModuleCount], here: &Address) -> Vec<(String, String)> {
    let is_meant = |kind: &&ModuleCount| !here.has("type") || here.holds("type", &kind.instance_of);
    let versions_of = |kind: &ModuleCount| -> Vec<(String, String)> {
        let mut versions_shown: Vec<&str> = kind.versions.iter().map(|version| &*version.version).collect();
        versions_shown.retain(|version| !version.is_empty());
        versions_shown.sort_by(|a, b| versions::compare(b, a));
        let choice =
            |version: &str| (format!("{}:{version}", kind.instance_of), format!("{} {version}", kind.name));
        versions_shown.into_iter().map(choice).collect()
    };
    let mut meant: Vec<&ModuleCount> = kinds.iter().filter(is_meant).collect();
    meant.sort_by_key(|kind| kind.name.to_lowercase());
    meant.into_iter().flat_map(versions_of).collect()
}

/// Filters that come with links and have no choice of their own on the page.
async fn other_chips(app: &App, session: &Session, here: &Address) -> Outcome<Vec<Chip>> {
    let mut chips = organization_chips(app, session, here, "column_assigned").await?;
    for id in here.values("system_id").take(MOST_CHIPS) {
        let found = systems::load(&app.fleet, &session.caller, id.parse().ok()).await.ok();
        chips.push(here.chip("system_id", "column_system", id, found.map(|found| found.system.name)));
    }
    Ok(chips)
}
