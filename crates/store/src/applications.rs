//! Applications: rows with their system and assignment, and writes by id. [`intake`] stores the applications that
//! documents list, [`counts`] keeps their counters, [`mod@list`] has the list, [`stats`] the filter choices and series.
//!
//! Every change of an application, or of the state of its system, locks the system's row ([`hold_system`]) before its
//! first read until its commit, and goes through [`counts::tally`] and [`counts::settle`].

pub mod counts;
mod filter;
pub mod intake;
mod list;
mod row;
pub mod stats;

pub use filter::{ApplicationFilter, ApplicationOrder, FILTERS, STATUSES};
pub use list::{list, total, walk, walk_query};
pub use row::{ApplicationRecord, Assignee};

use crate::{
    StoreError, Tx,
    sql::{On, Q},
};
use bailiwick_domain::{ApplicationId, OrgId, SystemId, Ts};
use bailiwick_policy::Granted;
use row::{Row, row_columns};
use uuid::Uuid;

/// The condition by which lists show applications `a` (spec: applications#operations); word for word the condition of
/// the indexes.
macro_rules! listed {
    () => {
        "a.deleted_at IS NULL AND a.is_user_facing AND a.certification_level >= 4"
    };
}
pub(crate) use listed;

const GET: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM applications a JOIN systems s ON s.id = a.system_id JOIN organizations h ON h.id = a.home_id \
     LEFT JOIN application_hosts t ON t.system_id = a.system_id LEFT JOIN organizations g ON g.id = a.organization_id \
     WHERE a.id = ?"
);
const BY_MODULE: &str = "SELECT id FROM applications WHERE system_id = ? AND module_id = ?";
const HOLD_SYSTEM: &str = "SELECT id FROM systems WHERE id = ? [[FOR UPDATE||]]";
const SET_NOTES: &str = "UPDATE applications SET notes = ?, updated_at = ? WHERE id = ?";
const SET_DELETED: &str =
    "UPDATE applications SET deleted_at = ?, is_dismissed = TRUE, updated_at = ? WHERE id = ?";
const ASSIGN: &str = "UPDATE applications SET organization_id = ?, status = ?, updated_at = ? WHERE id = ?";
/// Makes the next document count as changed even if its text is the same, unless the one before it listed nothing.
const FORGET_DIGEST: &str =
    "UPDATE application_hosts SET digest = NULL WHERE system_id = ? AND digest <> [[CAST('' AS bytea)||X'']]";
const RENAME_HOST: &str = "UPDATE application_hosts SET name_key = ? WHERE system_id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    GET,
    BY_MODULE,
    HOLD_SYSTEM,
    SET_NOTES,
    SET_DELETED,
    ASSIGN,
    FORGET_DIGEST,
    RENAME_HOST
];

/// The application, whatever its state; the caller decides whether it may be seen.
pub async fn get(on: impl Into<On<'_>>, id: ApplicationId) -> Result<Option<ApplicationRecord>, StoreError> {
    Q::new(GET).bind(id).optional::<Row>(on).await?.map(ApplicationRecord::try_from).transpose()
}

/// The id behind the older form `<system_id>-<module_id>`.
pub async fn by_module(
    on: impl Into<On<'_>>,
    system: SystemId,
    module_id: &str,
) -> Result<Option<ApplicationId>, StoreError> {
    let row: Option<(Uuid,)> = Q::new(BY_MODULE).bind(system).bind(module_id).optional(on).await?;
    Ok(row.map(|(id,)| ApplicationId(id)))
}

/// Locks a system against changes of it and of its applications; false when it no longer exists.
pub async fn hold_system(tx: &mut Tx, id: SystemId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(HOLD_SYSTEM).bind(id).optional(tx).await?;
    Ok(row.is_some())
}

/// Replaces the notes.
pub async fn set_notes(
    tx: &mut Tx,
    target: &Granted<ApplicationId>,
    notes: Option<&str>,
    now: Ts,
) -> Result<(), StoreError> {
    Q::new(SET_NOTES).bind(notes).bind(now).bind(target.id()).run(tx).await?;
    Ok(())
}

/// Marks an application of a held system deleted; the next document that names it brings it back.
pub async fn delete(
    tx: &mut Tx,
    target: &Granted<ApplicationId>,
    system: SystemId,
    now: Ts,
) -> Result<(), StoreError> {
    let before = counts::tally(tx, system).await?;
    tx.application_texts_changed();
    Q::new(SET_DELETED).bind(now).bind(now).bind(target.id()).run(tx).await?;
    Q::new(FORGET_DIGEST).bind(system).run(tx).await?;
    counts::settle(tx, system, before).await
}

/// Assigns an application of a locked system to an organization, or to none.
pub async fn assign(
    tx: &mut Tx,
    target: &Granted<ApplicationId>,
    system: SystemId,
    to: Option<&Granted<OrgId>>,
    now: Ts,
) -> Result<(), StoreError> {
    let before = counts::tally(tx, system).await?;
    let status = if to.is_some() { "assigned" } else { "unassigned" };
    let organization = to.map(Granted::id);
    Q::new(ASSIGN).bind(organization).bind(status).bind(now).bind(target.id()).run(tx).await?;
    counts::settle(tx, system, before).await
}

/// Updates the copies of a renamed system's name: lists are ordered by them.
pub(crate) async fn rename_host(tx: &mut Tx, id: SystemId, name_key: &str) -> Result<(), StoreError> {
    Q::new(RENAME_HOST).bind(name_key).bind(id).run(tx).await?;
    Ok(())
}
