//! The alerts that need attention: how many are active, and the newest critical ones without an assignee.

use super::{ActiveAlert, ActiveFilter, ActiveOrder, AlertQuery, Named, totals, within};
use crate::Alerts;
use bailiwick_domain::{Page, PageRequest, Result, SortDirection};
use bailiwick_platform::answer_cache::key_text;
use bailiwick_policy::Caller;
use bailiwick_store::history::stats::Live;

/// See [`attention`].
#[derive(Clone, Debug)]
pub struct Attention {
    /// Active alerts by severity.
    pub live: Live,
    /// The newest critical alerts without an assignee.
    pub unassigned: Page<ActiveAlert>,
}

/// Returns what the caller should look at first, with at most `rows` alerts. With the embedded router, simultaneous
/// requests of one scope share the read. A remote router may take longer than a shared read, so each request asks it.
///
/// # Errors
/// 403 for a caller who may not read systems; with a remote router 502 when no tenant could be asked.
pub async fn attention(service: &Alerts, caller: &Caller, rows: u64) -> Result<Attention> {
    let within = within(service, caller, &Named::default()).await?;
    let key = key_text(&(&within, rows));
    let read = async {
        let query = AlertQuery {
            filter: ActiveFilter {
                statuses: Some(vec!["active".to_owned()]),
                severities: Some(vec!["critical".to_owned()]),
                assignees: Some(Vec::new()),
                or_unassigned: true,
                ..ActiveFilter::default()
            },
            order: ActiveOrder::StartsAt,
            direction: SortDirection::Desc,
            page: PageRequest { page: 1, page_size: rows },
            with_receivers: false,
        };
        let unassigned = service.state.for_people().active(service, within.clone(), query);
        let (totals, unassigned) = tokio::join!(totals::totals_within(service, within.clone()), unassigned);
        Ok(Attention { live: totals?.live, unassigned: unassigned?.page })
    };
    match service.state.is_embedded() {
        true => service.state.attention.get(key, read).await,
        false => read.await,
    }
}
