//! What spans several areas: search, and the audit record.

use super::{Route, get, query};
use crate::{
    manage::{PAGE_SIZE, audit, search},
    wire::{audit::AuditPage, search::SearchOutput},
};
use bailiwick_fleet::search::SearchKind;
use bailiwick_policy::Permission::ReadUsers;

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/search", "search", "Find organizations, users, systems and applications by a text")
            .query([
                query::key("q").required(),
                query::key("kinds").repeated().one_of(SearchKind::WORDS.list()),
                query::key("limit"),
            ])
            .extra()
            .gives::<SearchOutput>()
            .to(search::show),
        get("/audit", "listAudit", "List who has changed what")
            .query(query::keys(["object_id", "actor_id", "action"]))
            .query(query::dates())
            .query([query::key("cursor"), query::key("page_size").by_default(PAGE_SIZE)])
            .ordered(&[("audit", &["-created_at"])])
            .extra()
            .needs(&[ReadUsers])
            .gives::<AuditPage>()
            .to(audit::list),
    ]
}
