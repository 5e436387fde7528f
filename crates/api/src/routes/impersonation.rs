//! Impersonation with consent.

use super::{Credential, Route, delete, get, post};
use bailiwick_policy::Permission::ImpersonateUsers;

pub(super) fn rows() -> Vec<Route> {
    use Credential::{Session, User};
    vec![
        get("/impersonate/consent", "getConsent").credential(Session),
        post("/impersonate/consent", "giveConsent").credential(User),
        delete("/impersonate/consent", "withdrawConsent").credential(User),
        post("/impersonate", "startImpersonation").credential(User).needs(&[ImpersonateUsers]),
        delete("/impersonate", "endImpersonation").credential(Session),
        get("/impersonate/status", "getImpersonationStatus").credential(Session),
        get("/impersonate/sessions", "listImpersonationSessions").credential(Session),
        get("/impersonate/sessions/{session_id}", "getImpersonationSession").credential(Session),
        get("/impersonate/sessions/{session_id}/audit", "listImpersonationAudit").credential(Session),
    ]
}
