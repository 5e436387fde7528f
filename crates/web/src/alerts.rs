//! The queries of lists of alerts (spec: alert-management#active-alerts, alert-management#history-list).

use crate::Params;
use bailiwick_alerts::manage::{
    self, ActiveFilter, ActiveOrder, AlertQuery, HistoryFilter, HistoryOrder, HistoryQuery, Named,
};
use bailiwick_domain::{Result, SortDirection};

/// The word of `include` that adds the organizations below the named ones.
pub const DESCENDANTS: &str = "descendants";

/// The organizations that the query names.
pub fn named(params: &Params) -> Named {
    Named {
        ids: params.many("organization_id"),
        with_descendants: params.one("include") == Some(DESCENDANTS),
    }
}

/// The active alerts that the query asks for; `page_size`: rows of a page unless it says otherwise.
pub fn active(params: &Params, page_size: u64) -> AlertQuery {
    AlertQuery {
        filter: params.filter(ActiveFilter::FILTERS),
        order: params.one("sort_by").and_then(|by| ActiveOrder::WORDS.parse(by)).unwrap_or_default(),
        direction: SortDirection::parse(params.falling(&ActiveOrder::WORDS)),
        page: params.page(page_size),
        with_receivers: true,
    }
}

/// The part of the history that the query asks for.
///
/// # Errors
/// 400 for a time that cannot be read.
pub fn history(params: &Params, page_size: u64) -> Result<HistoryQuery> {
    let filter = HistoryFilter {
        from: manage::time("from_date", params.one("from_date"))?,
        before: manage::time("to_date", params.one("to_date"))?,
        ..params.filter(HistoryFilter::FILTERS)
    };
    let order = params.one("sort_by").and_then(|by| HistoryOrder::WORDS.parse(by)).unwrap_or_default();
    let order = (order, SortDirection::parse(params.falling(&HistoryOrder::WORDS)));
    Ok(HistoryQuery { filter, order, page: params.page(page_size) })
}
