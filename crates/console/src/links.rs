//! Where single objects have their pages, for links from other areas.

use bailiwick_policy::{Caller, Permission};
use std::fmt::Display;

/// A text as one segment of a path.
pub(crate) fn segment(text: impl Display) -> String {
    form_urlencoded::byte_serialize(text.to_string().as_bytes()).collect::<String>().replace('+', "%20")
}

pub(crate) fn system(id: impl Display) -> String {
    format!("/console/systems/{id}")
}

pub(crate) fn application(id: impl Display) -> String {
    format!("/console/applications/{id}")
}

pub(crate) fn user(id: impl Display) -> String {
    format!("/console/users/{id}")
}

pub(crate) fn organization(id: impl Display) -> String {
    format!("/console/organizations/{id}")
}

pub(crate) fn webhook(id: impl Display) -> String {
    format!("/console/timeline/webhooks/{id}")
}

/// The page of an object, by its kind in events and in the audit record; none where it has no page or the person may
/// not read such objects.
pub(crate) fn of_kind(caller: &Caller, kind: &str, id: &str) -> Option<String> {
    let (permission, address) = match kind {
        "system" => (Permission::ReadSystems, system(id)),
        "application" => (Permission::ReadApplications, application(id)),
        "user" => (Permission::ReadUsers, user(id)),
        "distributor" => (Permission::ReadDistributors, organization(id)),
        "reseller" => (Permission::ReadResellers, organization(id)),
        "customer" => (Permission::ReadCustomers, organization(id)),
        "event_subscription" => (Permission::ReadAlerts, webhook(id)),
        _ => return None,
    };
    caller.holds(permission).then_some(address)
}

/// The page of the object that an event leads to: `/systems/<id>` at the interface.
pub(crate) fn of_subject(caller: &Caller, subject: &str) -> Option<String> {
    let (area, rest) = subject.strip_prefix('/')?.split_once('/')?;
    let id = rest.split('/').next()?;
    match area {
        "systems" if rest.contains("/inventory") => {
            of_kind(caller, "system", id).map(|address| format!("{address}/changes"))
        }
        "systems" => of_kind(caller, "system", id),
        "applications" => of_kind(caller, "application", id),
        "users" => of_kind(caller, "user", id),
        "distributors" => of_kind(caller, "distributor", id),
        "resellers" => of_kind(caller, "reseller", id),
        "customers" => of_kind(caller, "customer", id),
        _ => None,
    }
}
