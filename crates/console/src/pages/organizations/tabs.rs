//! Users, systems and applications of an organization and those below it, in short; the lists of their areas have all
//! filters.

use super::{address, head, within};
use crate::{
    components::{
        list::{Address, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    page,
    pages::systems,
    session::Session,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::{
    organizations::LocatedOrganization,
    users::{self, FilterValues, UserView},
};
use bailiwick_domain::{OrgId, Page, SortDirection, System};
use bailiwick_fleet::{
    applications::{
        self as found_applications, ApplicationFilter, ApplicationOrder, ApplicationQuery, ApplicationRecord,
    },
    systems::{self as fleet, SystemFilter, SystemOrder, SystemQuery},
};
use bailiwick_policy::{Action, Resource, gate};
use bailiwick_web::{Params, PathId};
use http::Uri;
use serde_json::{Value, json};

/// `GET /console/organizations/{id}/users`: of the organization itself, as the interface filters them.
pub(crate) async fn users(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let located = head::load(&app, &session, id).await?;
    let query = users::ListQuery {
        page: params.page(PAGE_SIZE),
        sort_by: "name".to_owned(),
        direction: SortDirection::Asc,
        filter: FilterValues {
            organization_id: vec![located.organization.id.to_string()],
            ..FilterValues::default()
        },
    };
    let listed = users::page(&app.directory, &session.caller, query).await?;
    let layout = &session.layout;
    let has_page = layout.has_area("users");
    let row = |view: &UserView| {
        let user = &view.user;
        json!({
            "name": user.name,
            "href": has_page.then(|| format!("/console/users/{}", user.id)),
            "detail": user.email.as_str(),
            "status": if user.suspended.is_set() { "suspended" } else { "enabled" },
            "middle": view.roles.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", "),
            "seen": When::maybe(layout.language, layout.now, user.latest_login_at),
        })
    };
    let rows = listed.rows.iter().map(row).collect();
    let all = format!("/console/users?organization_id={}", located.organization.id);
    let tab = Tab {
        word: "users",
        middle: "column_roles",
        seen: "column_login",
        all: has_page.then_some(all),
        new: None,
    };
    tab.page(&app, &session, &located, &listed, rows, &uri).await
}

/// `GET /console/organizations/{id}/systems`.
pub(crate) async fn systems(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let located = head::load(&app, &session, id).await?;
    let query = SystemQuery {
        filter: SystemFilter {
            organizations: Some(vec![located.organization.id]),
            include_hierarchy: true,
            ..SystemFilter::default()
        },
        order: Some((SystemOrder::Name, SortDirection::Asc)),
        page: params.page(PAGE_SIZE),
    };
    let listed = fleet::list(&app.fleet, &session.caller, query).await?;
    let layout = &session.layout;
    let row = |system: &System| {
        json!({
            "name": system.name,
            "href": systems::address(system.id),
            "detail": system.fqdn,
            "status": system.status().as_str(),
            "middle": system.organization.name,
            "seen": When::maybe(layout.language, layout.now, system.last_heartbeat),
        })
    };
    let rows = listed.rows.iter().map(row).collect();
    let may_create = gate(&session.caller, Action::Create, Resource::Systems).is_ok();
    let new = Address::of("/console/systems/new", None)
        .with("organization_id", Some(&located.organization.id.to_string()))
        .text();
    let tab = Tab {
        word: "systems",
        middle: "column_organization",
        seen: "column_seen",
        all: Some(within("/console/systems", located.organization.id)),
        new: may_create.then_some(new),
    };
    tab.page(&app, &session, &located, &listed, rows, &uri).await
}

/// `GET /console/organizations/{id}/applications`: those that are assigned to it or to an organization below it.
pub(crate) async fn applications(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    uri: Uri,
    params: Params,
) -> Outcome {
    let located = head::load(&app, &session, id).await?;
    let query = ApplicationQuery {
        filter: ApplicationFilter {
            organizations: Some(vec![located.organization.id]),
            include_hierarchy: true,
            ..ApplicationFilter::default()
        },
        order: Some((ApplicationOrder::DisplayName, SortDirection::Asc)),
        page: params.page(PAGE_SIZE),
    };
    let listed = found_applications::list(&app.fleet, &session.caller, query).await?;
    let layout = &session.layout;
    let has_page = layout.has_area("applications");
    let row = |application: &ApplicationRecord| {
        let product = application.name.as_deref().unwrap_or(&application.instance_of);
        json!({
            "name": application.display_name.as_deref().unwrap_or(product),
            "href": has_page.then(|| format!("/console/applications/{}", application.id)),
            "detail": format!("{product} {}", application.version.as_deref().unwrap_or_default()),
            "status": null,
            "middle": application.organization.as_ref().map(|organization| organization.name.as_str()),
            "seen": When::maybe(layout.language, layout.now, application.last_inventory_at),
        })
    };
    let rows = listed.rows.iter().map(row).collect();
    let tab = Tab {
        word: "applications",
        middle: "column_assigned",
        seen: "column_seen",
        all: has_page.then(|| within("/console/applications", located.organization.id)),
        new: None,
    };
    tab.page(&app, &session, &located, &listed, rows, &uri).await
}

/// The parts of a tab beside its rows.
struct Tab {
    word: &'static str,
    /// Text of the column in the middle.
    middle: &'static str,
    /// Text of the column with times.
    seen: &'static str,
    /// The list with all filters.
    all: Option<String>,
    /// Where one is made.
    new: Option<String>,
}

impl Tab {
    async fn page<T>(
        self,
        app: &App,
        session: &Session,
        located: &LocatedOrganization,
        listed: &Page<T>,
        rows: Vec<Value>,
        uri: &Uri,
    ) -> Outcome<Response> {
        let here = Address::of(&format!("{}/{}", address(located.organization.id), self.word), uri.query());
        let values = json!({
            "head": head::head(app, session, located, self.word).await?,
            "word": self.word,
            "middle": self.middle,
            "seen": self.seen,
            "all": self.all,
            "new": self.new,
            "rows": rows,
            "pager": Pager::of(listed, &here)?,
        });
        Ok(page::show(&session.layout, "organizations/tab.html", values))
    }
}
