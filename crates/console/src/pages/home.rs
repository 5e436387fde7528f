//! The first page: how things stand, what needs attention, what has changed.

use crate::{
    chart::{Chart, Delta},
    components::time::When,
    failure::Outcome,
    layout::Layout,
    links, page,
    pages::{alerts::shown, organizations::list_address, systems as system_pages},
    session::Session,
};
use axum::extract::State;
use bailiwick_alerts::manage::{self, ActiveAlert, Named};
use bailiwick_app::App;
use bailiwick_directory::{organizations, users};
use bailiwick_domain::{OrgType, Page, PageRequest, System};
use bailiwick_events::subscriptions;
use bailiwick_fleet::{CriticalChange, applications, systems};
use bailiwick_platform::trend::Trend;
use bailiwick_policy::{Action, Caller, Permission, Resource, gate, resource_of};
use bailiwick_web::Params;
use serde_json::{Value, json};

/// Days a trend can look back.
const PERIODS: [&str; 4] = ["7", "30", "180", "365"];
/// Rows of each part.
const ROWS: u64 = 6;

/// `GET /console/`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let requested = params.one("period").unwrap_or_default();
    let period = PERIODS.into_iter().find(|period| *period == requested).unwrap_or("30");
    let caller = &session.caller;
    let sees_systems = caller.holds(Permission::ReadSystems);
    let (totals, _) =
        if sees_systems { systems::totals(&app.fleet, caller, None).await? } else { Default::default() };
    let is_empty = caller.is_owner_level() && sees_systems && totals.total == 0;
    let mut values = json!({
        "periods": PERIODS,
        "period": period,
        "totals": sees_systems.then(|| json!({
            "active": totals.active, "inactive": totals.inactive, "unknown": totals.unknown,
            "suspended": totals.suspended,
        })),
        "counters": counters(&app, caller, period).await?,
        "alerts": null, "trouble": null, "changes": null, "charts": [],
    });
    if is_empty {
        values["steps"] = steps(&app, caller).await?;
        return Ok(page::show(&session.layout, "home/first_steps.html", values));
    }
    if sees_systems {
        let (fleet, alerts) = tokio::try_join!(
            bailiwick_fleet::attention(&app.fleet, caller, ROWS),
            manage::attention(&app.alerts, caller, ROWS)
        )?;
        let live = &alerts.live;
        values["alerts"] = json!({
            "active": live.active, "critical": live.critical, "warning": live.warning, "info": live.info,
            "muted": live.muted,
        });
        values["trouble"] = trouble(&session.layout, fleet.silent, alerts.unassigned);
        values["trouble"]["suspended"] = suspended(&app, caller).await?.into();
        values["trouble"]["failing"] = failing(&app, &session).await?;
        values["changes"] = changes(&session.layout, fleet.changes);
        values["charts"] = charts(&app, caller, period).await?;
    }
    Ok(page::show(&session.layout, "home/show.html", values))
}

/// Days and numbers of a trend.
fn rows(trend: &Trend) -> Vec<(String, u64)> {
    trend.points.iter().map(|(day, number)| (day.to_string(), *number)).collect()
}

fn counter(text: &str, trend: &Trend, href: Option<&str>) -> Value {
    let rows = rows(trend);
    let (before, now) = (rows.first().map_or(0, |r| r.1), rows.last().map_or(0, |r| r.1));
    json!({"text": text, "number": now, "delta": Delta::of(before, now), "chart": Chart::of(rows), "href": href})
}

/// Numbers of everything that the person may read.
async fn counters(app: &App, caller: &Caller, period: &str) -> Outcome<Vec<Value>> {
    let period = Some(period);
    let mut all = Vec::new();
    if caller.holds(Permission::ReadSystems) {
        all.push(counter(
            "count_systems",
            &systems::trend(&app.fleet, caller, period).await?,
            Some("/console/systems"),
        ));
    }
    for family in OrgType::FAMILIES {
        let is_below = caller.org_type().is_some_and(|own| own.level() < family.level());
        let may = resource_of(family).is_some_and(|resource| gate(caller, Action::Read, resource).is_ok());
        if is_below && may {
            let text = format!("count_{}", family.plural());
            let growth = organizations::growth(&app.directory, caller, family, period).await?;
            all.push(counter(&text, &growth, Some(&list_address(family))));
        }
    }
    if caller.holds(Permission::ReadUsers) {
        all.push(counter(
            "count_users",
            &users::growth(&app.directory, caller, period).await?,
            Some("/console/users"),
        ));
    }
    if caller.holds(Permission::ReadApplications) {
        all.push(counter(
            "count_applications",
            &applications::trend(&app.fleet, caller, period).await?,
            None,
        ));
    }
    Ok(all)
}

/// Critical alerts without an assignee, and silent systems.
fn trouble(layout: &Layout, silent: Page<System>, critical: Page<ActiveAlert>) -> Value {
    let system = |system: &System| {
        json!({
            "name": system.name, "href": system_pages::address(system.id), "organization": system.organization.name,
            "seen": When::maybe(layout.language, layout.now, system.last_heartbeat),
        })
    };
    let alerts: Vec<_> = critical.rows.iter().map(|row| shown(layout, row)).collect();
    json!({
        "critical": {"total": critical.total, "rows": alerts},
        "silent": {"total": silent.total, "rows": silent.rows.iter().map(system).collect::<Vec<_>>()},
    })
}

/// Numbers of suspended organizations.
async fn suspended(app: &App, caller: &Caller) -> Outcome<Vec<Value>> {
    let mut suspended = Vec::new();
    for family in OrgType::FAMILIES {
        let is_below = caller.org_type().is_some_and(|own| own.level() < family.level());
        let may = resource_of(family).is_some_and(|resource| gate(caller, Action::Read, resource).is_ok());
        if is_below && may {
            let number = organizations::suspended(&app.directory, caller, family).await?;
            suspended.extend((number > 0).then(|| {
                json!({
                    "text": format!("count_{}", family.plural()),
                    "number": number,
                    "href": format!("{}?status=suspended", list_address(family)),
                })
            }));
        }
    }
    Ok(suspended)
}

/// Webhooks to which nothing arrives.
async fn failing(app: &App, session: &Session) -> Outcome<Value> {
    if !session.caller.holds(Permission::ReadAlerts) {
        return Ok(json!({"total": 0, "rows": []}));
    }
    let page = PageRequest { page: 1, page_size: ROWS };
    let found = subscriptions::failing(&app.events, &session.caller, page).await?;
    let row = |view: &subscriptions::View| {
        let s = &view.subscription;
        json!({
            "href": links::webhook(s.id),
            "name": s.name,
            "why": s.disabled_reason.as_ref().or(s.last_error.as_ref()),
            "since": When::maybe(session.layout.language, session.layout.now, s.failing_since.or(s.disabled_at)),
        })
    };
    Ok(json!({"total": found.total, "rows": found.rows.iter().map(row).collect::<Vec<_>>()}))
}

/// The newest critical changes.
fn changes(layout: &Layout, changes: Vec<CriticalChange>) -> Value {
    let row = |change: CriticalChange| {
        let system = system_pages::address(change.system_id);
        json!({
            "system": change.system_name,
            "organization": change.organization_name,
            "href": format!("{system}/changes?inventory_id={}", change.record_id),
            "path": change.field_path,
            "at": When::of(layout.language, layout.now, change.created_at),
        })
    };
    changes.into_iter().map(row).collect()
}

/// Pictures of the period.
async fn charts(app: &App, caller: &Caller, period: &str) -> Outcome<Value> {
    let fleet = Chart::of(rows(&systems::trend(&app.fleet, caller, Some(period)).await?));
    let resolved = manage::trend(&app.alerts, caller, &Named::default(), Some(period)).await?;
    let day =
        |days: i64| bailiwick_domain::Ts::from_secs(days * 86_400).rfc3339(0).chars().take(10).collect();
    let resolved: Vec<(String, u64)> = resolved.points.iter().map(|(days, n)| (day(*days), *n)).collect();
    Ok(json!([
        {"text": "chart_systems", "column": "count_systems", "chart": fleet},
        {"text": "chart_resolved", "column": "column_resolved", "chart": Chart::of(resolved)},
    ]))
}

/// The way to the first system, each step ticked as it is done.
async fn steps(app: &App, caller: &Caller) -> Outcome<Value> {
    let mut below = 0;
    for family in OrgType::FAMILIES {
        if resource_of(family).is_some_and(|resource| gate(caller, Action::Read, resource).is_ok()) {
            below += organizations::family_total(&app.directory, caller, family).await?;
        }
    }
    let system = gate(caller, Action::Create, Resource::Systems).is_ok();
    let system = system.then_some(("/console/systems/new", "new_system"));
    let distributor = gate(caller, Action::Create, Resource::Distributors).is_ok() && below == 0;
    let distributor =
        distributor.then_some(("/console/organizations/new?family=distributor", "new_distributor"));
    let step = |text: &str, is_done: bool, way: Option<(&str, &str)>| json!({"text": text, "is_done": is_done, "way": way});
    Ok(json!([
        step("step_signed_in", true, None),
        step("step_organization", below > 0, distributor),
        step("step_system", false, system),
        step("step_register", false, None),
        step("step_inventory", false, None),
    ]))
}
