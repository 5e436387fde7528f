//! Rules about applications (spec: authorization#object-rules; applications#operations): access is that to the system
//! they run on.

use crate::{
    Action, Caller, Path, Resource, Standing,
    decide::{Denial, sealed::Judged},
    gate,
    organization::visible,
};
use bailiwick_domain::{ApplicationId, ObjectKind};

/// An application as the rules see it. Its assignment plays no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationTarget {
    pub id: ApplicationId,
    /// The place of the system's present organization in the tree.
    pub path: Path,
    /// The state of its system; its own deletion counts as well.
    pub standing: Standing,
}

impl Judged for ApplicationTarget {
    type Id = ApplicationId;

    fn judge(&self, caller: &Caller, action: Action) -> Result<ApplicationId, Denial> {
        gate(caller, action, Resource::Applications)?;
        if !visible(caller, &self.path, self.standing, action) {
            return Err(Denial::Hidden(ObjectKind::Application));
        }
        Ok(self.id)
    }
}
