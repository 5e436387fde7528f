//! Conditional requests (RFC 9110 §13): a caller names the state of an entity that they have seen, and the service
//! compares it with the present one.
//!
//! An entity has one tag, `"<state>.<shown>"`. `state` stands for the editable part of the entity ([`Editable`]),
//! `shown` for every byte of the answer that carries the tag. `If-None-Match` compares both, so a 304 is exact.
//! `If-Match` compares `state` alone, so a heartbeat that arrives meanwhile does not refuse a change of the notes.
//! Both halves are digests of content, not of times: two changes within one tick of the clock are two states. The
//! digests are keyed, because a layer of alert configuration holds secrets that not every reader of its tag may see.
//!
//! A use case that changes an entity calls [`RequestContext::check_conditions`] with the loaded entity: after the
//! permission check, before it validates the body, and again on the locked row of the write transaction. To give
//! another entity a tag: an implementation of [`Editable`], those calls, [`Version::of`] where it is read, and
//! `.conditional()` in the route table.

mod header;

pub use header::{Condition, IF_MATCH, IF_NONE_MATCH};

use crate::{Platform, RequestContext};
use bailiwick_domain::{
    Error, OrgId, OrgType, Organization, Result, System, Ts, User,
    org::{Details, Mark},
    ports::hex,
};
use bailiwick_store::applications::ApplicationRecord;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Suffix of the tag of a compressed answer, whose bytes differ from those of the plain one.
pub const PACKED: &str = ".gzip";

/// The part of an entity that people change, without anything that changes by itself or above it.
pub trait Editable {
    /// A value that stays equal until a person changes the entity.
    ///
    /// # Errors
    /// The entity cannot be written as JSON.
    fn editable(&self) -> Result<Value>;

    /// Whether the entity exists, for `*`.
    fn exists(&self) -> bool {
        true
    }
}

/// The time of a mark that a person has set on the entity itself.
fn own(mark: Mark) -> Option<Ts> {
    mark.at.filter(|_| mark.by.is_none())
}

impl Editable for Organization {
    fn editable(&self) -> Result<Value> {
        #[derive(Serialize)]
        struct Edited<'a> {
            r#type: OrgType,
            parent_id: Option<OrgId>,
            #[serde(flatten)]
            details: &'a Details,
            custom_data: &'a Map<String, Value>,
            suspended_at: Option<Ts>,
            deleted_at: Option<Ts>,
        }
        let edited = Edited {
            r#type: self.org_type,
            parent_id: self.parent_id,
            details: &self.details,
            custom_data: &self.custom_data,
            suspended_at: own(self.suspended),
            deleted_at: own(self.deleted),
        };
        serde_json::to_value(edited).map_err(Error::internal)
    }
}

impl Editable for User {
    fn editable(&self) -> Result<Value> {
        Ok(json!({
            "username": self.username, "email": self.email, "name": self.name, "phone": self.phone,
            "role_ids": self.role_ids, "organization_id": self.organization.id, "custom_data": self.custom_data,
            "suspended_at": own(self.suspended), "deleted_at": own(self.deleted),
        }))
    }
}

impl Editable for System {
    fn editable(&self) -> Result<Value> {
        Ok(json!({
            "name": self.name, "notes": self.notes, "custom_data": self.custom_data,
            "organization_id": self.organization.id, "suspended_at": own(self.suspended),
            "deleted_at": own(self.deleted),
        }))
    }
}

impl Editable for ApplicationRecord {
    fn editable(&self) -> Result<Value> {
        Ok(json!({ "notes": self.notes, "organization_id": self.organization.as_ref().map(|o| o.id) }))
    }
}

/// A state of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    state: String,
    exists: bool,
}

impl Version {
    /// The present state of an entity.
    ///
    /// # Errors
    /// The entity cannot be written as JSON.
    pub fn of(platform: &Platform, entity: &impl Editable) -> Result<Version> {
        let mut editable = entity.editable()?;
        editable.sort_all_objects();
        let state = digest(platform, "state of an entity", editable.to_string().as_bytes());
        Ok(Version { state, exists: entity.exists() })
    }

    /// The tag of an answer with this body, for `ETag`.
    pub fn tag(&self, platform: &Platform, body: &[u8]) -> String {
        format!("\"{}.{}\"", self.state, digest(platform, "answer about an entity", body))
    }
}

/// 128 bits as hexadecimal digits.
fn digest(platform: &Platform, purpose: &str, data: &[u8]) -> String {
    let mut digits = hex(&platform.keys.mac(purpose, data));
    digits.truncate(32);
    digits
}

/// The conditions of a request on the present state of its entity.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    pub if_match: Condition,
    pub if_none_match: Condition,
}

impl Conditions {
    fn is_absent(&self) -> bool {
        self.if_match == Condition::Absent && self.if_none_match == Condition::Absent
    }

    /// Whether the reader already knows the answer with this tag. A malformed condition counts as absent: the reader
    /// gets the whole answer.
    ///
    /// # Errors
    /// 412 when `If-Match` does not hold.
    pub fn is_known(&self, version: &Version, tag: &str) -> Result<bool> {
        if self.if_match.matches_state(version) == Some(false) {
            return Err(Error::PreconditionFailed(IF_MATCH));
        }
        Ok(self.if_none_match.names(version, tag))
    }

    /// Refuses a change of an entity in this state unless the conditions hold, `If-Match` first.
    ///
    /// # Errors
    /// 412 when a condition does not hold, 400 when it is malformed: a guard is never ignored.
    pub fn admit(&self, version: &Version) -> Result<()> {
        self.if_match.check_readable(IF_MATCH)?;
        self.if_none_match.check_readable(IF_NONE_MATCH)?;
        if self.if_match.matches_state(version) == Some(false) {
            return Err(Error::PreconditionFailed(IF_MATCH));
        }
        if self.if_none_match.matches_state_weakly(version) == Some(true) {
            return Err(Error::PreconditionFailed(IF_NONE_MATCH));
        }
        Ok(())
    }
}

impl RequestContext {
    /// Refuses a change of an entity that is not in the state that the caller has seen. Without a condition it does
    /// nothing.
    ///
    /// # Errors
    /// Those of [`Conditions::admit`].
    pub fn check_conditions(&self, platform: &Platform, entity: &impl Editable) -> Result<()> {
        if self.is_unconditional() {
            return Ok(());
        }
        self.conditions.admit(&Version::of(platform, entity)?)
    }

    /// Whether the request has no condition, so that nothing needs to be read for one.
    pub fn is_unconditional(&self) -> bool {
        self.conditions.is_absent()
    }
}
