//! Whether an organization requires a second factor of its users and of those below.

use super::{address, head};
use crate::{
    components::{question::Crumb, time::When},
    failure::Outcome,
    form::Form,
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, SecondFactorPolicy};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_identity::factors;
use bailiwick_policy::{Caller, Permission};
use bailiwick_web::PathId;
use serde_json::{Value, json};

/// Where the page of an organization is; none where there are no second factors or the person may not read of them.
pub(super) fn page_of(app: &App, caller: &Caller, id: OrgId) -> Option<String> {
    let is_there = factors::is_on(&app.identity) && caller.holds(Permission::ReadUsers);
    is_there.then(|| format!("{}/second-factor", address(id)))
}

/// Who requires a second factor, as the key of a text.
pub(super) fn state(app: &App, org_type: OrgType, policy: &SecondFactorPolicy) -> &'static str {
    let by_settings = app.settings.provider.second_factor.requires(org_type, &[]);
    match policy.own {
        Some(_) => "second_factor_own",
        None if policy.is_required_above => "second_factor_above",
        None if by_settings => "second_factor_everywhere",
        None => "second_factor_none",
    }
}

/// The line of the overview: its text and the page with more; none where the person may not read of it.
pub(super) async fn line(
    app: &App,
    session: &Session,
    id: OrgId,
    org_type: OrgType,
) -> Outcome<Option<Value>> {
    let Some(href) = page_of(app, &session.caller, id) else { return Ok(None) };
    let policy = organizations::second_factor_policy(&app.directory, &session.caller, Some(id)).await?;
    let may_change = policy.may_change && session.caller.holds(Permission::ManageUsers);
    let state = state(app, org_type, &policy);
    Ok(Some(json!({"href": href, "state": state, "may_change": may_change})))
}

/// The organization's type, its name and the way to it. The owner organization has no page of its own.
async fn heading(app: &App, session: &Session, id: Option<OrgId>) -> Outcome<(OrgType, String, Vec<Crumb>)> {
    let own = session.caller.org().filter(|own| own.org_type == OrgType::Owner && Some(own.id) == id);
    if let Some(own) = own {
        let list = texts::find(session.layout.language, "nav_organizations").unwrap_or_default();
        let crumbs = vec![Crumb::link("/console/organizations", list), Crumb::text(&*own.name)];
        return Ok((own.org_type, own.name.clone(), crumbs));
    }
    let located = head::load(app, session, id).await?;
    let organization = &located.organization;
    let mut crumbs = head::crumbs(app, session, &located).await?;
    crumbs.push(Crumb::link(address(organization.id), &*organization.details.name));
    Ok((organization.org_type, organization.details.name.clone(), crumbs))
}

/// `GET /console/organizations/{id}/second-factor`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<OrgId>) -> Outcome {
    session.needs(Permission::ReadUsers)?;
    let (org_type, name, crumbs) = heading(&app, &session, id).await?;
    let policy = organizations::second_factor_policy(&app.directory, &session.caller, id).await?;
    let layout = &session.layout;
    let level = |own: OrgType| super::kind(layout.language, own);
    let values = json!({
        "href": id.map(|id| format!("{}/second-factor", address(id))),
        "crumbs": crumbs,
        "name": name,
        "state": state(&app, org_type, &policy),
        "is_own": policy.own.is_some(),
        "set_by": policy.own.map(|own| level(own.set_by)),
        "set_at": When::maybe(layout.language, layout.now, policy.own.map(|own| own.set_at)),
        "may_change": policy.may_change && session.caller.holds(Permission::ManageUsers),
        "is_bound": policy.own.is_some() && !policy.may_change,
    });
    Ok(page::show(layout, "organizations/second_factor.html", values))
}

/// `POST /console/organizations/{id}/second-factor`.
pub(crate) async fn change(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    sent: Form,
) -> Outcome {
    session.needs(Permission::ManageUsers)?;
    let wanted = sent.text("required") == "true";
    let (caller, context) = (&session.caller, &session.context);
    organizations::require_second_factor(&app.directory, caller, context, id, || Ok(Some(wanted))).await?;
    let word = if wanted { "second_factor_required" } else { "second_factor_taken_back" };
    let to = id.map(|id| format!("{}/second-factor", address(id))).unwrap_or_default();
    Ok(done(&to, word))
}
