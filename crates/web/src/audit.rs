//! The query of the audit record (spec: audit#list).

use crate::{Params, inventory::range};
use bailiwick_directory::audit::Query;

/// What the query asks for; `page_size`: rows of a page unless it says otherwise. What is empty is no filter.
pub fn query(params: &Params, page_size: u64) -> Query {
    let text = |key| params.text(key).map(str::to_owned);
    let range = range(params);
    Query {
        object: text("object_id"),
        actor: text("actor_id"),
        action: text("action"),
        since: range.from,
        until: range.before,
        cursor: text("cursor"),
        page_size: params.page(page_size).page_size,
    }
}
