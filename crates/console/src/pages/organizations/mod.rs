//! Organizations: the tree, a list of each family, one organization with its tabs and its actions.

mod edit;
pub(crate) mod head;
mod list;
mod overview;
mod second_factor;
mod step;
mod tabs;
mod tree;

use crate::{
    components::list::Address,
    rows::{PageRow, get, post},
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_domain::{OrgType, org::OrgRef};
use bailiwick_policy::{Action, Caller, NewOrganization, Parent, decide, gate, resource_of};
use bailiwick_web::{Language, Params};
use http::Uri;
use serde_json::{Value, json};

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    let mut rows = vec![
        get("/console/organizations", tree::show),
        get("/console/organizations/new", edit::show_new),
        post("/console/organizations/new", edit::create),
        get("/console/organizations/{id}", overview::show),
        get("/console/organizations/{id}/users", tabs::users),
        get("/console/organizations/{id}/systems", tabs::systems),
        get("/console/organizations/{id}/applications", tabs::applications),
        get("/console/organizations/{id}/edit", edit::show),
        post("/console/organizations/{id}/edit", edit::update),
        get("/console/organizations/{id}/second-factor", second_factor::show),
        post("/console/organizations/{id}/second-factor", second_factor::change),
        get("/console/organizations/{id}/{step}", step::ask),
        post("/console/organizations/{id}/{step}", step::take),
    ];
    let families = [
        (
            OrgType::Distributor,
            "/console/organizations/distributors",
            "/console/organizations/distributors/export",
        ),
        (OrgType::Reseller, "/console/organizations/resellers", "/console/organizations/resellers/export"),
        (OrgType::Customer, "/console/organizations/customers", "/console/organizations/customers/export"),
    ];
    for (family, list_path, export_path) in families {
        let show = move |app: State<App>, session, uri: Uri, params: Params| {
            list::show(family, app, session, uri, params)
        };
        let export =
            move |app: State<App>, session, params: Params| list::export(family, app, session, params);
        rows.extend([get(list_path, show), get(export_path, export)]);
    }
    rows
}

pub(crate) use crate::links::organization as address;

/// Where an organization is, if the person may read it.
pub(crate) fn readable_address(caller: &Caller, organization: &OrgRef) -> Option<String> {
    let is_own = caller.org().is_some_and(|own| own.id == organization.id);
    let resource = resource_of(organization.org_type)?;
    (is_own || gate(caller, Action::Read, resource).is_ok()).then(|| address(organization.id))
}

/// Where the list of a family is.
pub(crate) fn list_address(family: OrgType) -> String {
    address(family.plural())
}

/// The list of the organizations of a family directly below another one.
fn below_address(family: OrgType, parent: impl std::fmt::Display) -> String {
    format!("{}?organization_id={parent}", list_address(family))
}

/// The name of a type of organizations.
fn kind(language: Language, org_type: OrgType) -> &'static str {
    texts::find(language, &format!("role_{}", org_type.as_str())).unwrap_or_default()
}

/// The views between which the pages of many organizations switch.
fn views(caller: &Caller, present: Option<OrgType>) -> Vec<Value> {
    let tree =
        json!({"text": "view_tree", "href": "/console/organizations", "is_present": present.is_none()});
    let list = |family: OrgType| {
        json!({
            "text": format!("count_{}", family.plural()),
            "href": list_address(family),
            "is_present": present == Some(family),
        })
    };
    let families = bailiwick_directory::organizations::readable(caller);
    std::iter::once(tree).chain(families.into_iter().map(list)).collect()
}

/// Families of which the person may make organizations, each with its word.
fn creatable(caller: &Caller) -> Vec<&'static str> {
    let may = |family: &OrgType| {
        decide(caller, Action::Create, &NewOrganization { family: *family, parent: Parent::Own }).is_allowed()
    };
    OrgType::FAMILIES.into_iter().filter(may).map(OrgType::as_str).collect()
}

/// Hands a filter of an organization on to the list of something else.
fn within(path: &str, id: impl std::fmt::Display) -> String {
    Address::of(path, None)
        .with("organization_id", Some(&id.to_string()))
        .with("include_hierarchy", Some("true"))
        .text()
}
