//! The top of every tab of an organization: its place, its state and the reason for it, its actions.

use super::{address, kind, list::state, readable_address};
use crate::{
    components::{author::author, question::Crumb, time::When},
    failure::Outcome,
    session::Session,
    texts,
};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, LocatedOrganization, name_within};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_policy::{Action, Caller, Permission, decide};
use bailiwick_web::alerts::DESCENDANTS;
use serde_json::{Value, json};

/// The organization, if the person may read it.
pub(crate) async fn load(app: &App, session: &Session, id: Option<OrgId>) -> Outcome<LocatedOrganization> {
    Ok(organizations::find_for(&app.directory, &session.caller, Action::Read, id).await?)
}

/// The head of a tab; `tab`: its word.
pub(crate) async fn head(
    app: &App,
    session: &Session,
    located: &LocatedOrganization,
    tab: &str,
) -> Outcome<Value> {
    let (layout, organization, caller) = (&session.layout, &located.organization, &session.caller);
    let mark = organization.suspended;
    let from = match mark.by {
        Some(id) => name_within(&app.directory, caller, id).await?,
        None => None,
    };
    Ok(json!({
        "href": address(organization.id),
        "name": organization.details.name,
        "kind": kind(layout.language, organization.org_type),
        "crumbs": crumbs(app, session, located).await?,
        "status": state(organization),
        "since": When::maybe(layout.language, layout.now, mark.at),
        "is_inherited": mark.by.is_some(),
        "from": from,
        "by": author(app, session, organization.id.0, "suspend", mark).await?,
        "created": When::of(layout.language, layout.now, organization.created_at),
        "tab": tab,
        "tabs": tabs(caller),
        "links": links(session, organization.id),
        "may_edit": decide(caller, Action::Update, &located.target()).is_allowed(),
        "steps": steps(caller, located),
    }))
}

/// The way to the organization through the tree.
pub(super) async fn crumbs(
    app: &App,
    session: &Session,
    located: &LocatedOrganization,
) -> Outcome<Vec<Crumb>> {
    let title = texts::find(session.layout.language, "nav_organizations").unwrap_or_default();
    let above = organizations::above(&app.directory, &session.caller, &located.node).await?;
    let above = above
        .into_iter()
        .map(|above| Crumb { href: readable_address(&session.caller, &above), text: above.name });
    Ok(std::iter::once(Crumb::link("/console/organizations", title)).chain(above).collect())
}

/// Tabs that the person may open.
fn tabs(caller: &Caller) -> Vec<&'static str> {
    let optional = [
        ("users", Permission::ReadUsers),
        ("systems", Permission::ReadSystems),
        ("applications", Permission::ReadApplications),
    ];
    let open = optional.into_iter().filter(|(_, permission)| caller.holds(*permission));
    let mut tabs = vec!["overview"];
    tabs.extend(open.map(|(word, _)| word));
    tabs.push("rebranding");
    tabs
}

/// The pages of the organization in other areas.
fn links(session: &Session, id: OrgId) -> Vec<Value> {
    // As the other tabs, alerts and events are those of the organizations below too.
    let below = format!("&include={DESCENDANTS}");
    let areas = [
        ("alerts", "/console/alerts", &*below),
        ("notifications", "/console/notifications", ""),
        ("events", "/console/timeline", &*below),
    ];
    let open = areas.into_iter().filter(|(area, ..)| session.layout.has_area(area));
    let link = |(area, path, more)| json!({"text": format!("nav_{area}"), "href": format!("{path}?organization_id={id}{more}")});
    open.map(link).collect()
}

/// The actions that the state of the organization and the rights of the person allow.
fn steps(caller: &Caller, located: &LocatedOrganization) -> Vec<&'static str> {
    let standing = located.node.standing;
    let is_reseller = located.organization.org_type == OrgType::Reseller;
    let rows = [
        ("promote", Action::Promote, is_reseller && !standing.suspended),
        ("suspend", Action::Suspend, !standing.suspended),
        ("reactivate", Action::Reactivate, standing.suspended),
        ("delete", Action::Delete, true),
        ("destroy", Action::Destroy, true),
    ];
    let may = |action| decide(caller, action, &located.target()).is_allowed();
    rows.into_iter().filter(|(_, action, fits)| *fits && may(*action)).map(|(word, ..)| word).collect()
}
