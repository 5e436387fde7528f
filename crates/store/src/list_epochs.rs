//! List epochs: numbers by which the answer cache knows that an entry is still valid. An epoch moves with the commit
//! that changes the data it covers.

use crate::{Db, StoreError, Tx, sql::Q};

const LIST_EPOCHS: &str = "SELECT people, figures, logins, systems, statuses, applications, application_texts, \
     (SELECT a.n FROM active_alerts_epoch a WHERE a.id = 1) FROM list_epochs WHERE id = 1";
/// A number of statuses or alerts is never used twice, even when a crash loses the commit: some transactions that write
/// these do not wait for the disk. On SQLite the process that has read a lost number ends with the database.
pub(crate) const MOVE_LISTS: &str = "UPDATE list_epochs SET people = people + ?, figures = figures + ?, \
     logins = logins + ?, systems = systems + ?, statuses = [[CASE WHEN CAST(? AS BIGINT) = 0 THEN statuses ELSE \
     GREATEST(statuses + 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)) END||statuses + ?]], \
     applications = applications + ?, \
     application_texts = application_texts + ? WHERE id = 1";
/// As the epoch of statuses in [`MOVE_LISTS`].
pub(crate) const MOVE_ACTIVE_ALERTS: &str = "UPDATE active_alerts_epoch SET n = \
     [[GREATEST(n + 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))||n + 1]] WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![LIST_EPOCHS, MOVE_LISTS, MOVE_ACTIVE_ALERTS];

/// Numbers that move with every commit that changes the data of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListEpochs {
    /// Organizations and users themselves.
    pub people: i64,
    /// The counts of systems of organizations and of applications assigned to them, and which systems these are.
    pub figures: i64,
    /// When users last signed in.
    pub logins: i64,
    /// The systems that a filter without statuses matches, and their order.
    pub systems: i64,
    /// The statuses of systems.
    pub statuses: i64,
    /// How many applications of a module are listed, and how many of them are assigned.
    pub applications: i64,
    /// Which applications are listed, and the texts of theirs that a search compares.
    pub application_texts: i64,
    /// The set of active alerts, and their assignees. It also moves if an alert expires earlier than before, and with
    /// every written row of a resolved alert.
    pub active_alerts: i64,
}

impl Db {
    /// The present list epochs; those of the replica for a request that reads from it.
    pub async fn list_epochs(&self) -> Result<ListEpochs, StoreError> {
        let (people, figures, logins, systems, statuses, applications, application_texts, active_alerts) =
            Q::new(LIST_EPOCHS).one(self).await?;
        Ok(ListEpochs {
            people,
            figures,
            logins,
            systems,
            statuses,
            applications,
            application_texts,
            active_alerts,
        })
    }
}

impl Tx {
    /// Called by every function that writes data that a list of organizations or users can show.
    pub(crate) const fn people_changed(&mut self) {
        self.state_mut().lists.people = 1;
    }

    /// Called by every function that changes which systems an organization has, deleted ones included, or their keys,
    /// or how many applications are assigned to it.
    pub(crate) const fn figures_changed(&mut self) {
        self.state_mut().lists.figures = 1;
    }

    /// Called by every function that changes when a user last signed in.
    pub(crate) const fn logins_changed(&mut self) {
        self.state_mut().lists.logins = 1;
    }

    /// Called by every function that changes the status of systems without moving them.
    pub(crate) const fn statuses_changed(&mut self) {
        self.state_mut().lists.statuses = 1;
    }

    /// Called by every function that changes how many applications of a module an organization has, or how many of them
    /// are assigned.
    pub(crate) const fn applications_changed(&mut self) {
        self.state_mut().lists.applications = 1;
    }

    /// Called by every function that changes which applications are listed, or a text of theirs that a search compares.
    pub(crate) const fn application_texts_changed(&mut self) {
        self.state_mut().lists.application_texts = 1;
    }

    /// Called by every function by which an alert begins, ends or expires earlier, or changes its assignee, or that
    /// writes a resolved alert.
    pub(crate) const fn active_alerts_changed(&mut self) {
        self.state_mut().lists.active_alerts = 1;
    }

    /// Called by every function that changes a column of systems that a list can be filtered or ordered by.
    pub(crate) const fn systems_changed(&mut self) {
        self.state_mut().lists.systems = 1;
    }
}
