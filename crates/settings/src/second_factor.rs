//! Which users of the embedded provider need more than a password (docs/identity.md).

use bailiwick_domain::OrgType;
use std::time::Duration;

/// For whom a second factor is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondFactorMode {
    /// Nobody adds one and nobody is asked for one.
    Off,
    /// Everyone may add one; it is required where a level, a role or an organization requires it.
    Optional,
    /// Everyone needs one.
    Required,
}

/// The policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// The mode.
    pub mode: SecondFactorMode,
    /// Levels of organizations whose users need one.
    pub levels: Vec<OrgType>,
    /// Roles whose holders need one, by their keys.
    pub roles: Vec<String>,
    /// Time to add a second factor once it is required, from the first sign-in without one.
    pub grace: Duration,
}

impl Default for SecondFactor {
    fn default() -> SecondFactor {
        SecondFactor {
            mode: SecondFactorMode::Optional,
            levels: Vec::new(),
            roles: Vec::new(),
            grace: Duration::from_secs(14 * 86_400),
        }
    }
}

impl SecondFactor {
    /// Whether the settings require one of a user at this level with these roles.
    pub fn requires(&self, level: OrgType, roles: &[String]) -> bool {
        match self.mode {
            SecondFactorMode::Off => false,
            SecondFactorMode::Required => true,
            SecondFactorMode::Optional => {
                self.levels.contains(&level) || self.roles.iter().any(|role| roles.contains(role))
            }
        }
    }

    /// Whether there are second factors.
    pub const fn is_on(&self) -> bool {
        !matches!(self.mode, SecondFactorMode::Off)
    }
}
