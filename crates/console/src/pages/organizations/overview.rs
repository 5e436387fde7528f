//! The data of an organization, its numbers, its creator.

use super::{address, below_address, head, kind, readable_address, second_factor, within};
use crate::{components::time::When, failure::Outcome, page, session::Session};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, LocatedOrganization, Stats, name_within, readable};
use bailiwick_domain::{OrgId, OrgType, Organization, exact};
use bailiwick_policy::{Caller, Permission};
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// Keys of the free data that have a place of their own on pages, in the order of forms.
pub(super) const KNOWN: [&str; 7] =
    ["main_contact", "email", "phone", "address", "city", "language", "notes"];

/// `GET /console/organizations/{id}`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<OrgId>) -> Outcome {
    let located = head::load(&app, &session, id).await?;
    let (layout, organization) = (&session.layout, &located.organization);
    let when = |at| When::of(layout.language, layout.now, at);
    let mut stats =
        organizations::numbers(&app.directory, organization.org_type, vec![organization.id]).await?;
    let stats = stats.remove(&organization.id).unwrap_or_default();
    let creator = organization.created_by.as_ref().map(|creator| {
        json!({
            "name": creator.name,
            "organization": creator.organization_name,
            "is_on_behalf": creator.on_behalf_of,
        })
    });
    let values = json!({
        "head": head::head(&app, &session, &located, "overview").await?,
        "kind": kind(layout.language, organization.org_type),
        "vat": organization.vat,
        "description": organization.details.description,
        "parent": parent(&app, &session, &located).await?,
        "known": known_details(organization),
        "custom": further(organization),
        "notes": text_of(organization, "notes"),
        "created": when(organization.created_at),
        "updated": (organization.updated_at != organization.created_at).then(|| when(organization.updated_at)),
        "creator": creator,
        "promoted": organization.promoted_from.as_ref().map(|from| when(from.at)),
        "counters": counters(&session.caller, &located, &stats),
        "second_factor": second_factor::line(&app, &session, organization.id, organization.org_type).await?,
    });
    Ok(page::show(layout, "organizations/overview.html", values))
}

/// The organization directly above, if the person may see it, with its address if the person may read it.
async fn parent(app: &App, session: &Session, located: &LocatedOrganization) -> Outcome<Option<Value>> {
    let Some(id) = located.organization.parent_id else { return Ok(None) };
    let above = organizations::above(&app.directory, &session.caller, &located.node).await?;
    if let Some(above) = above.iter().find(|above| above.id == id) {
        let href = readable_address(&session.caller, above);
        return Ok(Some(json!({"name": above.name, "href": href})));
    }
    // The owner organization has no page.
    let name = name_within(&app.directory, &session.caller, id).await?;
    Ok(name.map(|name| json!({"name": name, "href": null})))
}

/// A value of the free data as people read it; empty where there is none.
pub(super) fn text_of(organization: &Organization, key: &str) -> String {
    match organization.custom_data.get(key) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => exact::text(other),
    }
}

/// The keys with texts of their own, without the notes, and their values.
fn known_details(organization: &Organization) -> Vec<(&'static str, String)> {
    let shown = KNOWN.into_iter().filter(|key| *key != "notes").map(|key| (key, text_of(organization, key)));
    shown.filter(|(_, value)| !value.is_empty()).collect()
}

/// All other keys with something in them.
pub(super) fn further(organization: &Organization) -> Vec<(String, String)> {
    let is_further = |key: &&String| key.as_str() != "vat" && !KNOWN.contains(&key.as_str());
    let keys = organization.custom_data.keys().filter(is_further);
    let pairs = keys.map(|key| (key.clone(), text_of(organization, key)));
    pairs.filter(|(_, value)| !value.is_empty()).collect()
}

/// Numbers, each with the page of the counted objects.
fn counters(caller: &Caller, located: &LocatedOrganization, stats: &Stats) -> Vec<Value> {
    let (id, family) = (located.organization.id, located.organization.org_type);
    let has_below = family != OrgType::Customer;
    let mut all: Vec<Value> = Vec::new();
    for below in readable(caller).into_iter().filter(|below| below.level() > family.level()) {
        let number = if below == OrgType::Reseller { stats.resellers } else { stats.customers };
        let href = format!("{}&include_hierarchy=true", below_address(below, id));
        let text = format!("count_{}", below.plural());
        all.push(json!({"text": text, "number": number, "note": null, "other": 0, "href": href}));
    }
    let here = address(id);
    // Lists of users go by the organization itself, the others by all below it too.
    let objects = [
        ("tab_users", Permission::ReadUsers, stats.own.users, stats.subtree.users, format!("{here}/users")),
        (
            "nav_systems",
            Permission::ReadSystems,
            stats.subtree.systems,
            stats.own.systems,
            within("/console/systems", id),
        ),
        (
            "tab_applications",
            Permission::ReadApplications,
            stats.applications.subtree,
            stats.applications.own,
            format!("{here}/applications"),
        ),
    ];
    for (text, permission, number, other, href) in objects {
        let note = if text == "tab_users" { "with_below" } else { "own_number" };
        all.push(json!({
            "text": text,
            "number": number,
            "note": has_below.then_some(note),
            "other": other,
            "href": caller.holds(permission).then_some(href),
        }));
    }
    all
}
