//! Impersonation with consent.

use super::{Credential, Route, delete, get, post};
use crate::{
    manage::impersonation as manage,
    route::{END_IMPERSONATION, START_IMPERSONATION},
    wire::{impersonation as wire, session::SessionTokens},
};
use bailiwick_policy::Permission::ImpersonateUsers;

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Session, User};
    vec![
        get("/impersonate/consent", "getConsent")
            .credential(Session)
            .gives::<wire::ConsentAnswer>()
            .to(manage::consent),
        post("/impersonate/consent", "giveConsent")
            .credential(User)
            .takes::<wire::ConsentInput>()
            .gives::<wire::ConsentAnswer>()
            .to(manage::give_consent),
        delete("/impersonate/consent", "withdrawConsent")
            .credential(User)
            .gives_null()
            .to(manage::withdraw_consent),
        post("/impersonate", START_IMPERSONATION)
            .credential(User)
            .needs(&[ImpersonateUsers])
            .takes::<wire::StartInput>()
            .may_answer(&[409])
            .gives::<wire::StartOutput>()
            .to(manage::start),
        delete("/impersonate", END_IMPERSONATION)
            .credential(Session)
            .gives::<SessionTokens>()
            .to(manage::end),
        get("/impersonate/status", "getImpersonationStatus")
            .credential(Session)
            .gives::<wire::StatusOutput>()
            .to(manage::status),
        get("/impersonate/sessions", "listImpersonationSessions")
            .credential(Session)
            .gives::<wire::SessionList>()
            .to(manage::sessions),
        get("/impersonate/sessions/{session_id}", "getImpersonationSession")
            .credential(Session)
            .gives::<wire::SessionAnswer>()
            .to(manage::session),
        get("/impersonate/sessions/{session_id}/audit", "listImpersonationAudit")
            .credential(Session)
            .gives::<wire::AuditList>()
            .to(manage::audit),
    ]
}
