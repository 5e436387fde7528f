//! The systems that need attention: the newest silent ones, and those with the newest critical changes.

use crate::{
    Fleet,
    systems::{self, StatusFilter, SystemFilter, SystemOrder, SystemQuery},
};
use bailiwick_domain::{Page, PageRequest, Result, SortDirection, System, SystemStatus};
use bailiwick_platform::answer_cache::key_text;
use bailiwick_policy::{Caller, Resource, list_scope};
use bailiwick_store::inventory::alerts;

pub use alerts::CriticalChange;

/// See [`attention`].
#[derive(Clone, Debug)]
pub struct Attention {
    /// The newest inactive systems.
    pub silent: Page<System>,
    /// The newest critical changes.
    pub changes: Vec<CriticalChange>,
}

/// Returns what the caller should look at first, at most `rows` of each. Simultaneous requests of one scope share the
/// read.
///
/// # Errors
/// 403 for a caller who may not read systems.
pub async fn attention(service: &Fleet, caller: &Caller, rows: u64) -> Result<Attention> {
    let scope = list_scope(caller, Resource::Systems)?;
    let read = async {
        let silent = SystemQuery {
            filter: SystemFilter {
                statuses: Some(vec![StatusFilter::Is(SystemStatus::Inactive)]),
                ..SystemFilter::default()
            },
            // The newest: the order of a status is that of their ids. It needs no walk past systems of other statuses.
            order: Some((SystemOrder::Status, SortDirection::Desc)),
            page: PageRequest { page: 1, page_size: rows },
        };
        let silent = systems::list_within(service, scope, silent);
        let changes = alerts::newest(&service.platform.db, &scope, rows);
        let (silent, changes) = tokio::join!(silent, changes);
        Ok(Attention { silent: silent?, changes: changes? })
    };
    service.attention.get(key_text(&(scope, rows)), read).await
}
