//! Impersonation with consent.

use super::{Credential, Route, delete, get, post, query};
use crate::{
    manage::{PAGE_SIZE, impersonation as manage},
    route::{END_IMPERSONATION, START_IMPERSONATION},
    wire::{impersonation as wire, session::SessionTokens},
};
use bailiwick_policy::Permission::ImpersonateUsers;

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Session, User};
    vec![
        get("/impersonate/consent", "getConsent", "Whether one has agreed to be impersonated")
            .credential(Session)
            .gives::<wire::ConsentAnswer>()
            .to(manage::consent),
        post("/impersonate/consent", "giveConsent", "Agree to be impersonated for some hours")
            .credential(User)
            .takes::<wire::ConsentInput>()
            .gives::<wire::ConsentAnswer>()
            .to(manage::give_consent),
        delete("/impersonate/consent", "withdrawConsent", "Withdraw that consent")
            .credential(User)
            .gives_null()
            .to(manage::withdraw_consent),
        post("/impersonate", START_IMPERSONATION, "Act as a user who has agreed")
            .credential(User)
            .needs(&[ImpersonateUsers])
            .takes::<wire::StartInput>()
            .may_answer(&[409])
            .gives::<wire::StartOutput>()
            .to(manage::start),
        delete("/impersonate", END_IMPERSONATION, "End acting as somebody else")
            .credential(Session)
            .gives::<SessionTokens>()
            .to(manage::end),
        get("/impersonate/status", "getImpersonationStatus", "Whether one acts as somebody else")
            .credential(Session)
            .gives::<wire::StatusOutput>()
            .to(manage::status),
        get("/impersonate/sessions", "listImpersonationSessions", "List who has acted as whom")
            .query(query::page(PAGE_SIZE))
            .query(query::sort_ignored())
            .query([query::key("as").one_of(manage::SIDES.list())])
            .ordered(&[("sessions", &["-start_time", "-session_id"])])
            .credential(Session)
            .gives::<wire::SessionList>()
            .to(manage::sessions),
        get(
            "/impersonate/sessions/{session_id}",
            "getImpersonationSession",
            "Show when somebody acted as somebody else",
        )
        .credential(Session)
        .gives::<wire::SessionAnswer>()
        .to(manage::session),
        get(
            "/impersonate/sessions/{session_id}/audit",
            "listImpersonationAudit",
            "What was done in somebody's name",
        )
        .query(query::page(PAGE_SIZE))
        .query(query::sort_ignored())
        .ordered(&[("entries", &["timestamp"])])
        .credential(Session)
        .gives::<wire::AuditList>()
        .to(manage::audit),
    ]
}
