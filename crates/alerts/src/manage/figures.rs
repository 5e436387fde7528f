//! Figures for pictures: resolved alerts by severity and organization, and how long they lasted.

use super::{
    Named, cached_figures,
    stats::{DAY_SECS, LONGEST_WAIT},
    within,
};
use crate::Alerts;
use bailiwick_domain::{Error, OrgId, Result, Ts};
use bailiwick_platform::trend::parse_period;
use bailiwick_policy::Caller;
use bailiwick_store::history::{
    figures::{self, Lasted},
    list::HistoryFilter,
};

/// Organizations that are named.
const TOP: u64 = 10;

/// Figures over the alerts that were resolved in a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolvedStats {
    /// The organizations with the most, and their numbers.
    pub organizations: Vec<(OrgId, String, u64)>,
    /// How long they lasted, by severity.
    pub lasted: Vec<Lasted>,
}

/// The figures; `period` as `GET /alerts/trend` takes it. Unless they are cached, they take a place as
/// `GET /alerts/stats` does, because all rows of the period are read.
///
/// # Errors
/// 403 for an organization out of reach, 400 for another period, 503 while too many are made.
pub async fn figures(
    service: &Alerts,
    caller: &Caller,
    named: &Named,
    period: Option<&str>,
) -> Result<ResolvedStats> {
    let within = within(service, caller, named).await?;
    let period = parse_period(period)?;
    let first = service.platform.now().secs().div_euclid(DAY_SECS) - i64::from(period) + 1;
    let filter = HistoryFilter { from: Some(Ts::from_secs(first * DAY_SECS)), ..HistoryFilter::default() };
    let organization = caller.org().ok_or_else(|| Error::unauthenticated("authentication required"))?;
    let permits = &service.state.statistics;
    let read = async {
        let _permit =
            permits.acquire(organization.id, LONGEST_WAIT, "statistics before these take too long").await?;
        let (organizations, lasted) = tokio::join!(
            figures::by_organization(&service.platform.db, &within, first, TOP),
            figures::lasted(&service.platform.db, &within, &filter),
        );
        Ok((organizations?, lasted?))
    };
    let (organizations, lasted) =
        cached_figures::of_history(service, "figures of resolved alerts", &within, &first, read).await?;
    Ok(ResolvedStats { organizations, lasted })
}
