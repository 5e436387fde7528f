//! What every page of a user shows at its top: who and where they are, how their state is and why, what may be done.

use super::address;
use crate::{
    components::{author::author, picture::address_of, question::Crumb, time::When},
    failure::Outcome,
    session::Session,
    texts,
};
use bailiwick_app::App;
use bailiwick_directory::{
    organizations::name_within,
    users::{self, UserRecord},
};
use bailiwick_domain::{OrgType, User, UserId};
use bailiwick_identity::{factors, passwords};
use bailiwick_policy::{Action, Caller, Standing, UserTarget, decide};
use serde::Serialize;
use serde_json::{Value, json};

/// An action that the person may take now.
#[derive(Clone, Debug, Serialize)]
struct Step {
    /// Its word in addresses and keys of texts.
    word: &'static str,
    /// Whether it has a page of its own before it is done.
    asks: bool,
}

/// The user, if the person may read them.
pub(super) async fn load(app: &App, session: &Session, id: Option<UserId>) -> Outcome<UserRecord> {
    Ok(users::load_for(&app.directory, &session.caller, Action::Read, id).await?)
}

/// The word of the state, as filters and the interface name it.
pub(super) fn status(user: &User) -> &'static str {
    if user.deleted.is_set() {
        "deleted"
    } else if user.suspended.is_set() {
        "suspended"
    } else {
        "enabled"
    }
}

/// The way to a user.
pub(super) fn crumbs(session: &Session, user: &User) -> Vec<Crumb> {
    let list = texts::find(session.layout.language, "nav_users").unwrap_or_default();
    let organization = format!("/console/users?organization_id={}", user.organization.id);
    let mut crumbs =
        vec![Crumb::link("/console/users", list), Crumb::link(organization, &*user.organization.name)];
    if user.deleted.is_set() {
        crumbs.push(Crumb::text(&*user.name));
    } else {
        crumbs.push(Crumb::link(address(user.id), &*user.name));
    }
    crumbs
}

/// The head of a page.
pub(super) async fn head(app: &App, session: &Session, record: &UserRecord) -> Outcome<Value> {
    let (layout, user, caller) = (&session.layout, &record.view.user, &session.caller);
    let when = |at| When::maybe(layout.language, layout.now, at);
    let (verb, mark) = match user.deleted.is_set() {
        true => ("delete", user.deleted),
        false => ("suspend", user.suspended),
    };
    let from = match mark.by {
        Some(id) => name_within(&app.directory, caller, id).await?,
        None => None,
    };
    Ok(json!({
        "id": user.id.to_string(),
        "href": address(user.id),
        "name": user.name,
        "status": status(user),
        "since": when(mark.at),
        "is_inherited": mark.by.is_some(),
        "from": from,
        "by": author(app, session, user.id.0, verb, mark).await?,
        "signed_in": when(user.latest_login_at),
        "picture": address_of(app, user.id).await?,
        "crumbs": crumbs(session, user),
        "is_own": caller.user_id() == Some(user.id),
        "may_edit": may(caller, Action::Update, &record.target),
        "steps": steps(app, caller, user, &record.target),
    }))
}

fn may(caller: &Caller, action: Action, target: &UserTarget) -> bool {
    decide(caller, action, target).is_allowed()
}

/// What can be done in the state the user is in.
fn steps(app: &App, caller: &Caller, user: &User, target: &UserTarget) -> Vec<Step> {
    let Standing { suspended, deleted, .. } = target.standing;
    let is_own_mark = user.suspended.is_set() && user.suspended.by.is_none();
    let has_passwords = passwords::check_mode(&app.identity).is_ok();
    let rows = [
        ("move", true, Action::Update, !deleted && user.organization.org_type != OrgType::Owner),
        ("password", true, Action::SetPassword, !deleted && has_passwords),
        ("second-factors", true, Action::SetPassword, !deleted && factors::is_on(&app.identity)),
        ("suspend", false, Action::Suspend, !suspended && !deleted),
        ("reactivate", false, Action::Reactivate, is_own_mark && !deleted),
        ("restore", false, Action::Restore, deleted),
        ("delete", true, Action::Delete, !deleted),
        ("destroy", true, Action::Destroy, true),
    ];
    let possible = rows.into_iter().filter(|(_, _, action, fits)| *fits && may(caller, *action, target));
    possible.map(|(word, asks, ..)| Step { word, asks }).collect()
}
