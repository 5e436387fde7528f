//! The liveness monitor (spec: systems#liveness; alerts#link-failed): raises `LinkFailed` for every inactive system,
//! refreshes it while the system stays inactive, and resolves it in its tenant when the system recovers, is suspended,
//! deleted, destroyed or moved.
//!
//! It also sets the statuses that time changes ([`systems::stats::update_statuses`]), under a lease of its own: raising
//! the alerts of a large network that fails takes minutes, and lists and totals must not wait for it.
//!
//! Only the process that holds the lease works. All work is in batches. Raised alerts are recorded apart from the
//! systems, and an alert counts as raised only once its tenant has accepted it.

use crate::{Alerts, ServiceAlert as Posted, raise};
use bailiwick_alertmanager::{Intake, Nanos, PostedAlert, SenderLabels, parse_alerts};
use bailiwick_domain::{Error, Happening, OrgId, Result, SystemId, Ts};
use bailiwick_events::EventDraft;
use bailiwick_fleet::systems;
use bailiwick_platform::tasks::lease;
use bailiwick_store::{
    organizations,
    silent_systems::{self, OpenLinkAlert, Silent, Source},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use uuid::Uuid;

/// The task of the alerts.
pub const ALERTS: &str = "liveness";
/// The task of the statuses.
pub const STATUSES: &str = "system statuses";
/// Systems or alerts of one batch.
const BATCH: u64 = 2_000;
/// After this many intervals another process replaces one that has died.
const INTERVALS: u32 = 3;

/// The result of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Whether this process holds the lease.
    pub is_leader: bool,
    /// Alerts raised or refreshed.
    pub posted: u64,
    /// Alerts resolved.
    pub resolved: u64,
}

/// Checks everything once, as far as this process holds the leases.
pub async fn check(service: &Alerts) -> Result<Checked> {
    update_statuses(service).await?;
    check_alerts(service).await
}

async fn hold_lease(service: &Alerts, task: &str) -> Result<bool> {
    lease(&service.platform, task, service.settings.systems.check_interval * INTERVALS).await
}

/// Sets the statuses that time changes; false without the lease.
///
/// # Errors
/// The database's.
pub async fn update_statuses(service: &Alerts) -> Result<bool> {
    let is_leader = hold_lease(service, STATUSES).await?;
    if is_leader {
        systems::stats::update_statuses(&service.fleet).await?;
    }
    Ok(is_leader)
}

/// Raises, refreshes and resolves alerts, as far as this process holds the lease.
///
/// # Errors
/// The database's.
pub async fn check_alerts(service: &Alerts) -> Result<Checked> {
    let mut checked = Checked::default();
    let renew = async || hold_lease(service, ALERTS).await;
    let mut after = (SystemId(Uuid::nil()), OrgId(Uuid::nil()));
    loop {
        // A long check renews its lease, and stops when it has lost it.
        checked.is_leader = renew().await?;
        if !checked.is_leader {
            return Ok(checked);
        }
        let over = silent_systems::over(&service.platform.db, after, BATCH).await?;
        let Some(last) = over.last() else { break };
        after = (last.system_id, last.organization_id);
        checked.resolved += resolve(service, over).await?;
    }
    let due = service.platform.now().minus(service.settings.systems.link_alert_refresh);
    for source in Source::ALL {
        let mut after = SystemId(Uuid::nil());
        while checked.is_leader {
            let silent = silent_systems::due(&service.platform.db, source, due, after, BATCH).await?;
            let Some(last) = silent.last() else { break };
            after = last.id;
            checked.posted += fire(service, silent).await?;
            checked.is_leader = renew().await?;
        }
    }
    Ok(checked)
}

/// Raises or refreshes the alerts of these systems, one batch for each tenant.
async fn fire(service: &Alerts, silent: Vec<Silent>) -> Result<u64> {
    let now = service.platform.now();
    let mut tenants: BTreeMap<OrgId, Vec<(OpenLinkAlert, Ts, PostedAlert)>> = BTreeMap::new();
    for system in silent {
        let started_at = system.last_heartbeat.plus(service.settings.systems.liveness_timeout).min(now);
        let alert = firing(service, &system, started_at, now)?;
        let raised = OpenLinkAlert {
            system_id: system.id,
            organization_id: system.organization.id,
            system_key: system.system_key,
        };
        tenants.entry(system.organization.id).or_default().push((raised, started_at, alert));
    }
    let mut posted = 0;
    for (tenant, alerts) in tenants {
        let (rows, alerts): (Vec<_>, Vec<Posted>) = alerts
            .into_iter()
            .map(|(raised, at, alert)| ((raised.clone(), at), (raised.system_key, alert)))
            .unzip();
        let Some(taken) = post(service, tenant, rows, alerts).await else { continue };
        let mut tx = service.platform.db.begin_relaxed().await?;
        let first = silent_systems::not_posted_before(&mut tx, &taken).await?;
        EventDraft::write_all(
            first.iter().map(|raised| event_for(Happening::LinkFailed, raised)),
            &mut tx,
            now,
        )
        .await?;
        silent_systems::record_posted(&mut tx, &taken, now).await?;
        tx.commit().await?;
        posted += taken.len() as u64;
    }
    Ok(posted)
}

/// Resolves these alerts, one batch for each tenant.
async fn resolve(service: &Alerts, over: Vec<OpenLinkAlert>) -> Result<u64> {
    let mut tenants: BTreeMap<OrgId, Vec<OpenLinkAlert>> = BTreeMap::new();
    for raised in over {
        tenants.entry(raised.organization_id).or_default().push(raised);
    }
    let mut count = 0;
    for (tenant, rows) in tenants {
        let is_gone = organizations::node(&service.platform.db, tenant).await?.is_none();
        // The embedded router keeps no rows of a tenant that is gone.
        let resolved = if is_gone && service.state.is_embedded() {
            rows
        } else {
            let alerts = rows
                .iter()
                .map(|row| Ok((row.system_key.clone(), over_now(service, row)?)))
                .collect::<Result<Vec<Posted>>>()?;
            let Some(taken) = post(service, tenant, rows, alerts).await else { continue };
            taken
        };
        let mut tx = service.platform.db.begin_relaxed().await?;
        let active = silent_systems::active_among(&mut tx, &resolved).await?;
        let restored = resolved.iter().filter(|raised| active.contains(&raised.system_id));
        let restored = restored.map(|raised| event_for(Happening::LinkRestored, raised));
        EventDraft::write_all(restored, &mut tx, service.platform.now()).await?;
        silent_systems::forget(&mut tx, &resolved).await?;
        tx.commit().await?;
        count += resolved.len() as u64;
    }
    Ok(count)
}

fn event_for(what: Happening, raised: &OpenLinkAlert) -> EventDraft {
    EventDraft::system_by_id(what, raised.system_id, &raised.system_key)
        .for_organization(raised.organization_id)
}

/// Posts alerts of a tenant; returns the rows of those it accepted. None when it accepted none: the next check retries,
/// and other tenants are not affected.
async fn post<R>(service: &Alerts, tenant: OrgId, rows: Vec<R>, alerts: Vec<Posted>) -> Option<Vec<R>> {
    match raise(service, tenant, alerts).await {
        Ok(left) => {
            let remaining = rows.into_iter().enumerate().filter(|(i, _)| !left.contains(i));
            Some(remaining.map(|(_, row)| row).collect())
        }
        Err(fault) => {
            tracing::warn!(%tenant, error = %fault, "link alerts of a tenant are tried again");
            None
        }
    }
}

fn labels(service: &Alerts) -> Value {
    json!({
        "alertname": "LinkFailed", "severity": "critical", "managed_by": service.settings.alerting.managed_by,
    })
}

fn firing(service: &Alerts, system: &Silent, started_at: Ts, now: Ts) -> Result<PostedAlert> {
    let (since, minutes) =
        (system.last_heartbeat.rfc3339(0), service.settings.systems.liveness_timeout.as_secs() / 60);
    let summary = "System {{ .system_name }} does not answer";
    let description = format!("The last heartbeat was received at {since}, more than {minutes} minutes ago.");
    let alert = json!([{
        "labels": labels(service),
        "annotations": {
            "summary": summary, "summary_en": summary,
            "summary_it": "Il sistema {{ .system_name }} non risponde",
            "description": description, "description_en": description,
            "description_it": format!("L'ultimo heartbeat è stato ricevuto il {since}, più di {minutes} minuti fa."),
        },
        "startsAt": started_at, "endsAt": now.plus(service.settings.systems.link_alert_refresh * 2),
    }]);
    let organization = &system.organization;
    let identity = SenderLabels {
        system_name: system.name.clone(),
        system_type: system.system_type.clone(),
        system_fqdn: system.fqdn.clone(),
        system_ipv4: system.ipv4_address.clone(),
        organization_name: organization.name.clone(),
        organization_type: organization.org_type.as_str().to_owned(),
        organization_vat: system.vat.clone(),
        ..stable(system.id, organization.id, &system.system_key)
    };
    posted(service, &alert, &identity)
}

/// The link alert with the labels it was raised with, resolved now.
fn over_now(service: &Alerts, raised: &OpenLinkAlert) -> Result<PostedAlert> {
    let now = service.platform.now();
    let alert = json!([{
        "labels": labels(service), "startsAt": now.minus(Duration::from_secs(60)), "endsAt": now,
    }]);
    posted(service, &alert, &stable(raised.system_id, raised.organization_id, &raised.system_key))
}

fn stable(system: SystemId, organization: OrgId, key: &str) -> SenderLabels {
    SenderLabels {
        system_key: key.to_owned(),
        system_id: system.to_string(),
        organization_id: organization.to_string(),
        ..SenderLabels::default()
    }
}

/// As a system's own push would be taken: with the identity added.
fn posted(service: &Alerts, alert: &Value, identity: &SenderLabels) -> Result<PostedAlert> {
    let intake = Intake {
        identity: Some(identity),
        now: Nanos::from_ts(service.platform.now()),
        resolve_timeout: service.settings.alerting.resolve_timeout,
        limits: &service.state.limits,
    };
    let batch = parse_alerts(alert.to_string().as_bytes(), &intake)
        .map_err(|e| Error::internal(format_args!("an alert of the service is refused: {e}")))?;
    let alert = batch.alerts.into_iter().next();
    alert.ok_or_else(|| Error::internal("an alert of the service exceeds its limits"))
}
