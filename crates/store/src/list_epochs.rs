//! List epochs: numbers by which the answer cache knows that an entry is still valid. An epoch moves with the commit
//! that changes the data it covers.

use crate::{Db, StoreError, Tx, sql::Q};

const LIST_EPOCHS: &str =
    "SELECT people, figures, logins, systems, statuses, applications FROM list_epochs WHERE id = 1";
pub(crate) const MOVE_LISTS: &str = "UPDATE list_epochs SET people = people + ?, figures = figures + ?, \
     logins = logins + ?, systems = systems + ?, statuses = statuses + ?, applications = applications + ? WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![LIST_EPOCHS, MOVE_LISTS];

/// Numbers that move with every commit that changes the data of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListEpochs {
    /// Organizations and users themselves.
    pub people: i64,
    /// The counts of systems of organizations and of applications assigned to them.
    pub figures: i64,
    /// When users last signed in.
    pub logins: i64,
    /// The systems that a filter without statuses matches, and their order.
    pub systems: i64,
    /// The counted status of systems.
    pub statuses: i64,
    /// How many applications of a module are listed, and how many of them are assigned.
    pub applications: i64,
}

impl Db {
    /// The present list epochs.
    pub async fn list_epochs(&self) -> Result<ListEpochs, StoreError> {
        let (people, figures, logins, systems, statuses, applications) =
            Q::new(LIST_EPOCHS).one(self).await?;
        Ok(ListEpochs { people, figures, logins, systems, statuses, applications })
    }
}

impl Tx {
    /// Called by every function that writes data that a list of organizations or users can show.
    pub(crate) const fn people_changed(&mut self) {
        self.moved().lists.people = 1;
    }

    /// Called by every function that changes how many systems an organization has, or how many applications are
    /// assigned to it.
    pub(crate) const fn figures_changed(&mut self) {
        self.moved().lists.figures = 1;
    }

    /// Called by every function that changes when a user last signed in.
    pub(crate) const fn logins_changed(&mut self) {
        self.moved().lists.logins = 1;
    }

    /// Called by every function that changes the counted status of systems without moving them.
    pub(crate) const fn statuses_changed(&mut self) {
        self.moved().lists.statuses = 1;
    }

    /// Called by every function that changes how many applications of a module an organization has, or how many of them
    /// are assigned.
    pub(crate) const fn applications_changed(&mut self) {
        self.moved().lists.applications = 1;
    }

    /// Called by every function that changes a column of systems that a list can be filtered or ordered by.
    pub(crate) const fn systems_changed(&mut self) {
        self.moved().lists.systems = 1;
    }
}
