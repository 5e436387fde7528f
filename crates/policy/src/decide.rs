//! The one decision about single objects.

use crate::{Action, Caller, Refusal};
use bailiwick_domain::{Error, ObjectKind, Result};

/// Proof that a decision allowed an action on an object. Only the rules of this crate create one: [`decide`]
/// and those for organizations named in a request. It cannot be copied. Every function
/// that writes by id requires one.
#[derive(Debug, PartialEq)]
pub struct Granted<Id> {
    id: Id,
    action: Action,
}

impl<Id: Copy> Granted<Id> {
    pub(crate) const fn new(id: Id, action: Action) -> Granted<Id> {
        Granted { id, action }
    }

    /// The object; for something new, the organization that receives it.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// The action that was allowed.
    pub const fn action(&self) -> Action {
        self.action
    }
}

/// The outcome of a decision.
#[derive(Debug, PartialEq)]
pub enum Decision<Id> {
    /// Go on, with the proof.
    Allowed(Granted<Id>),
    /// 404 `<kind> not found`, the same answer as for an object that does not exist.
    Hidden(ObjectKind),
    /// The caller may know the object, but not do this.
    Refused(Refusal),
}

impl<Id> Decision<Id> {
    /// Whether it allows.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed(_))
    }

    /// The proof, or the error of the answer.
    ///
    /// # Errors
    /// `NotFound` for a hidden object, else the error of the refusal.
    pub fn granted(self) -> Result<Granted<Id>> {
        match self {
            Decision::Allowed(granted) => Ok(granted),
            Decision::Hidden(kind) => Err(Error::NotFound(kind)),
            Decision::Refused(refusal) => Err(refusal.into()),
        }
    }
}

/// Why a judgement does not allow.
pub enum Denial {
    /// Hidden from the caller.
    Hidden(ObjectKind),
    /// Not to be done.
    Refused(Refusal),
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Denial {
        Denial::Refused(refusal)
    }
}

pub(crate) mod sealed {
    use super::{Action, Caller, Denial};

    /// Keeps the rules inside this crate.
    pub trait Judged {
        /// Id of the object, or of the organization that receives something new.
        type Id: Copy;

        /// The object rules in the order of spec: authorization#order-of-checks, steps 7 to 9, and 12 for references.
        fn judge(&self, caller: &Caller, action: Action) -> Result<Self::Id, Denial>;
    }
}

/// Something a decision is about: organizations, users, systems, and places for new or moved ones.
pub trait Target: sealed::Judged {}
impl<T: sealed::Judged> Target for T {}

/// Decides whether the caller may do this to the object. Pure and total: unknown cases are denied.
pub fn decide<T: Target>(caller: &Caller, action: Action, target: &T) -> Decision<T::Id> {
    match target.judge(caller, action) {
        Ok(id) => Decision::Allowed(Granted::new(id, action)),
        Err(Denial::Hidden(kind)) => Decision::Hidden(kind),
        Err(Denial::Refused(refusal)) => Decision::Refused(refusal),
    }
}
