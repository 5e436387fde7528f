//! The list of a family, with the interface's filters in the address.

use super::{address, creatable, list_address, views};
use crate::{
    components::{
        creators::creator_filter,
        list::{Address, Chip, Column, Filter, PAGE_SIZE, Pager, hidden_fields, is_filtered},
        organizations::organization_chips,
        time::When,
    },
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::{
    creators::Of,
    exports,
    organizations::{self, Listed},
};
use bailiwick_domain::{OrgType, Organization};
use bailiwick_policy::{Action, gate, resource_of};
use bailiwick_web::{Language, Params, asked, download, organization_query};
use http::Uri;
use serde_json::{Value, json};

const STATES: [&str; 3] = ["enabled", "suspended", "deleted"];

/// `GET /console/organizations/{family}`.
pub(crate) async fn show(
    family: OrgType,
    State(app): State<App>,
    session: Session,
    uri: Uri,
    params: Params,
) -> Outcome {
    let params = params.filled();
    let query = organization_query(&params, family, PAGE_SIZE);
    let found = organizations::page(&app.directory, &session.caller, family, &query).await?;
    let here = Address::of(&list_address(family), uri.query());
    let states = STATES.map(|word| choice(session.layout.language, word));
    let states = Filter::of("status", "filter_status", states, &here);
    let creators = creator_filter(&app, &session, Of::Family(family), &here).await?;
    let filters = [states, creators];
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(organization_chips(&app, &session, &here, "label_belongs_to").await?);
    let export = here.at(&format!("{}/export", list_address(family)));
    let pager = Pager::of(&found, &here)?;
    let values = json!({
        "family": family.as_str(),
        "title": format!("count_{}", family.plural()),
        "here": here.bare(),
        "views": views(&session.caller, Some(family)),
        "rows": found.rows.iter().map(|row| shown(&session, row)).collect::<Vec<_>>(),
        "columns": columns(family, &here),
        "kept": hidden_fields(organizations::filters(family), &filters, &here),
        "filters": filters.into_iter().filter(Filter::has_choices).collect::<Vec<_>>(),
        "chips": chips,
        "pager": pager,
        "search": params.text("search").unwrap_or_default(),
        "is_filtered": is_filtered(organizations::filters(family), &here),
        "may_create": creatable(&session.caller).contains(&family.as_str()),
        "csv": export.with("format", Some("csv")).text(),
        "pdf": export.with("format", Some("pdf")).text(),
    });
    Ok(page::show(&session.layout, "organizations/list.html", values))
}

/// `GET /console/organizations/{family}/export`.
pub(crate) async fn export(
    family: OrgType,
    State(app): State<App>,
    session: Session,
    params: Params,
) -> Outcome {
    let query = organization_query(&params, family, PAGE_SIZE);
    let request = asked(&params, organizations::filters(family));
    Ok(download(exports::organizations(&app.directory, &session.caller, family, query, request).await?)?)
}

fn columns(family: OrgType, here: &Address) -> Vec<Column> {
    let mut columns = vec![
        Column::of("name", "column_name", Some("name"), here),
        Column::of("status", "column_status", Some("suspended_at"), here),
    ];
    let counted = [
        (OrgType::Distributor, "resellers", "count_resellers"),
        (OrgType::Reseller, "customers", "count_customers"),
    ];
    for (deepest, key, text) in counted {
        if family.level() <= deepest.level() {
            columns.push(Column::of(key, text, None, here));
        }
    }
    columns.extend([
        Column::of("systems", "nav_systems", None, here),
        Column::of("applications", "tab_applications", None, here),
        Column::of("creator", "label_created_by", Some("creator_name"), here),
        Column::of("created", "column_created", Some("created_at"), here),
    ]);
    columns
}

/// The state of an organization as a word of the filter.
pub(super) fn state(organization: &Organization) -> &'static str {
    if organization.deleted.is_set() {
        "deleted"
    } else if organization.suspended.is_set() {
        "suspended"
    } else {
        "enabled"
    }
}

fn shown(session: &Session, listed: &Listed) -> Value {
    let (organization, counts) = (&listed.organization, listed.counts);
    let family = organization.org_type;
    let is_deleted = organization.deleted.is_set();
    let here = address(organization.id);
    let may_restore =
        resource_of(family).is_some_and(|resource| gate(&session.caller, Action::Restore, resource).is_ok());
    json!({
        // Deleted organizations cannot be read, only restored or removed for good.
        "href": if is_deleted { may_restore.then(|| format!("{here}/restore")) } else { Some(here) },
        "name": organization.details.name,
        "description": organization.details.description,
        "status": state(organization),
        "resellers": (family == OrgType::Distributor).then_some(counts.resellers),
        "customers": (family != OrgType::Customer).then_some(counts.customers),
        "systems": counts.systems,
        "applications": counts.applications,
        "creator": organization.created_by.as_ref().map(|creator| creator.name.as_str()),
        "created": When::of(session.layout.language, session.layout.now, organization.created_at),
    })
}

fn choice(language: Language, word: &str) -> (String, String) {
    let label = texts::find(language, &format!("organization_status_{word}")).unwrap_or(word);
    (word.to_owned(), label.to_owned())
}
