//! Types of events, made of what they are about and of what happened to it.

use super::OrgType;
use std::fmt;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTopic {
    /// An organization, by its family.
    Organization(OrgType),
    User,
    System,
    Application,
    Inventory,
    Alert,
    Impersonation,
}

impl EventTopic {
    /// Its word in the type of an event.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventTopic::Organization(family) => family.as_str(),
            EventTopic::User => "user",
            EventTopic::System => "system",
            EventTopic::Application => "application",
            EventTopic::Inventory => "inventory",
            EventTopic::Alert => "alert",
            EventTopic::Impersonation => "impersonation",
        }
    }

    /// The family of the organizations that it is about.
    pub const fn family(self) -> Option<OrgType> {
        match self {
            EventTopic::Organization(family) => Some(family),
            _ => None,
        }
    }

    /// The type of its event.
    pub const fn kind(self, happening: Happening) -> EventKind {
        EventKind { topic: self, happening }
    }
}

macro_rules! happenings {
    ($($happening:ident = $word:literal,)+) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Happening {
            $(#[doc = concat!("`", $word, "`")] $happening,)+
        }

        impl Happening {
            /// Its word in the type of an event.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Happening::$happening => $word,)+
                }
            }
        }
    };
}

happenings! {
    Created = "created",
    Updated = "updated",
    Suspended = "suspended",
    Reactivated = "reactivated",
    Deleted = "deleted",
    Restored = "restored",
    Destroyed = "destroyed",
    Promoted = "promoted",
    Left = "left",
    Registered = "registered",
    Unregistered = "unregistered",
    SecretChanged = "secret_changed",
    Reassigned = "reassigned",
    LinkFailed = "link_failed",
    LinkRestored = "link_restored",
    Found = "found",
    Gone = "gone",
    Assigned = "assigned",
    Unassigned = "unassigned",
    Changed = "changed",
    Firing = "firing",
    Resolved = "resolved",
    Consented = "consented",
    ConsentWithdrawn = "consent_withdrawn",
    Started = "started",
    Ended = "ended",
}

/// Type of an event, `<topic>.<happening>`. `bailiwick_events::kinds` lists the valid combinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKind {
    /// What it is about.
    pub topic: EventTopic,
    /// What happened.
    pub happening: Happening,
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.topic.as_str(), self.happening.as_str())
    }
}
