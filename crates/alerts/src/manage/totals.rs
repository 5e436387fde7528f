//! Numbers of active alerts (spec: alert-management#figures): counted with the embedded router, and cached
//! ([`cached_figures`]); with a remote router taken from figures that a background task keeps.

use super::{Named, alert_query::live, cached_figures, embedded::suppressed_rows, remote, within};
use crate::Alerts;
use bailiwick_alertmanager::ListedAlert;
use bailiwick_domain::{OrgId, Result, Ts};
use bailiwick_outbound::RouterClient;
use bailiwick_platform::tasks::lease;
use bailiwick_policy::Caller;
use bailiwick_store::{
    StoreError,
    history::{
        OrganizationsRead, shown,
        stats::{self, Live},
    },
};
use futures_util::{StreamExt, stream};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// The name of the task that asks a remote router.
pub const TOTALS: &str = "alert totals";
/// After this time another process replaces one that has died.
const LEASE_TIME: Duration = Duration::from_secs(180);
/// Figures older than this carry a warning.
const STALE: Duration = Duration::from_secs(300);
/// Tenants asked concurrently, and stored by one transaction.
const SIDE_BY_SIDE: usize = 16;
const TENANTS: u64 = 200;

/// Numbers of alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Active alerts by severity, and how many of them are silenced.
    pub live: Live,
    /// Resolved rows of the history.
    pub history: u64,
    /// Problems of these figures.
    pub warnings: Vec<String>,
}

/// `GET /alerts/totals`.
///
/// # Errors
/// 403 for an organization out of reach.
pub async fn totals(service: &Alerts, caller: &Caller, named: &Named) -> Result<Totals> {
    totals_within(service, within(service, caller, named).await?).await
}

/// The numbers of these organizations.
pub(super) async fn totals_within(service: &Alerts, within: OrganizationsRead) -> Result<Totals> {
    let resolved = async { Ok(stats::resolved(&service.platform.db, &within).await?) };
    let history = cached_figures::of_history(service, "resolved alerts", &within, &(), resolved).await?;
    if service.state.is_embedded() {
        let query = live(service, within);
        let severities = cached_figures::figure(
            service,
            "alerts by severity",
            &query,
            query.severities(&service.platform.db),
        );
        let (severities, suppressed) = tokio::join!(severities, suppressed_rows(service, &query));
        let mut live = Live { muted: suppressed?.len() as u64, ..Live::default() };
        for (severity, n) in severities? {
            count(&mut live, severity.as_deref().unwrap_or_default(), u64::try_from(n).unwrap_or(0));
        }
        return Ok(Totals { live, history, warnings: Vec::new() });
    }
    let (live, oldest) = tokio::join!(
        stats::live(&service.platform.db, &within),
        stats::oldest_live(&service.platform.db, &within)
    );
    let age = oldest?.map(|at| service.platform.now().since(at)).filter(|age| *age > STALE);
    let warning = |age| format!("totals: stale data, oldest refresh {} ago", words(age));
    Ok(Totals { live: live?, history, warnings: age.map(warning).into_iter().collect() })
}

fn count(live: &mut Live, severity: &str, n: u64) {
    live.active += n;
    match severity {
        "critical" => live.critical += n,
        "warning" => live.warning += n,
        _ => live.info += n,
    }
}

/// `1h2m3s`, without leading zero parts.
fn words(age: Duration) -> String {
    let (hours, minutes, seconds) = (age.as_secs() / 3600, age.as_secs() / 60 % 60, age.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Asks the remote router once about every tenant that has alerts; returns how many answered. None when another process
/// is doing so, or with the embedded router.
///
/// # Errors
/// The database's.
pub async fn refresh_totals(service: &Alerts) -> Result<Option<u64>> {
    let Some(client) = service.state.for_people().remote() else { return Ok(None) };
    let began = service.platform.now();
    let mut answered = 0;
    let mut asked_after = None;
    loop {
        if !lease(&service.platform, TOTALS, LEASE_TIME).await? {
            return Ok(None);
        }
        let now = service.platform.now();
        let tenants = stats::tenants_to_ask(&service.platform.db, began, asked_after, TENANTS).await?;
        let Some(last) = tenants.last() else { return Ok(Some(answered)) };
        asked_after = Some(*last);
        let found = of_their_systems(service, ask(service, client, tenants).await).await?;
        answered += found.len() as u64;
        keep(service, &found, now).await?;
        if service.platform.stop.is_cancelled() {
            return Ok(Some(answered));
        }
    }
}

/// Numbers of a tenant by system key.
type BySystem = HashMap<String, Live>;

/// The sums over the systems that the tenants have: alerts that lists leave out are not counted either.
async fn of_their_systems(
    service: &Alerts,
    found: Vec<(OrgId, BySystem)>,
) -> Result<Vec<(OrgId, Live)>, StoreError> {
    let named = |(tenant, all): &(OrgId, BySystem)| {
        let tenant = *tenant;
        all.keys().map(move |key| ((tenant, key.clone()), key.clone())).collect::<Vec<_>>()
    };
    let named: Vec<_> = found.iter().flat_map(named).collect();
    let shown = shown::shown(&service.platform.db, &named).await?;
    let theirs: HashSet<_> =
        shown.into_iter().filter(|(_, s)| s.system.is_some()).map(|(key, _)| key).collect();
    let sum = |(tenant, all): (OrgId, BySystem)| {
        let mut sum = Live::default();
        for (_, live) in all.into_iter().filter(|(key, _)| theirs.contains(&(tenant, key.clone()))) {
            sum.active += live.active;
            sum.critical += live.critical;
            sum.warning += live.warning;
            sum.info += live.info;
            sum.muted += live.muted;
        }
        (tenant, sum)
    };
    Ok(found.into_iter().map(sum).collect())
}

async fn ask(service: &Alerts, client: &RouterClient, tenants: Vec<OrgId>) -> Vec<(OrgId, BySystem)> {
    let each = |tenant: OrgId| async move {
        let _place = service.state.remote_reads.acquire().await;
        (tenant, remote::alerts_of(service, client, tenant, None).await)
    };
    let mut answers = std::pin::pin!(stream::iter(tenants).map(each).buffer_unordered(SIDE_BY_SIDE));
    let mut found = Vec::new();
    while let Some((tenant, answer)) = answers.next().await {
        match answer {
            Ok(alerts) => found.push((tenant, figures_of(&alerts))),
            Err(fault) => tracing::debug!(%tenant, %fault, "numbers of active alerts are not available"),
        }
    }
    found
}

fn figures_of(alerts: &[ListedAlert]) -> BySystem {
    let mut all = BySystem::new();
    for alert in alerts {
        let live = all.entry(alert.labels.value("system_key").to_owned()).or_default();
        count(live, alert.labels.value("severity"), 1);
        live.muted += u64::from(!alert.status.silenced_by.is_empty());
    }
    all
}

async fn keep(service: &Alerts, counts: &[(OrgId, Live)], now: Ts) -> Result<(), StoreError> {
    let mut counts = counts.to_vec();
    // All processes lock these rows in the same order, so that no deadlock arises.
    counts.sort_unstable_by_key(|(tenant, _)| *tenant);
    let mut tx = service.platform.db.begin_relaxed().await?;
    stats::keep_live(&mut tx, &counts, now).await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_in_words() {
        for (seconds, text) in [(301, "5m1s"), (59, "59s"), (3600, "1h0m0s"), (90_061, "25h1m1s")] {
            assert_eq!(words(Duration::from_secs(seconds)), text);
        }
    }
}
