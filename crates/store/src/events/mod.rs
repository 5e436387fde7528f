//! Events: changes that other software can follow (docs/events.md).
//!
//! A change writes its events into `event_outbox` in its own transaction ([`write()`]): no lock, no number. A moment
//! later [`number()`] moves them to `events` while it holds the one row of `event_position`. So numbers follow the
//! order of commits, whichever sequence or transaction was faster, and no event ever appears with a smaller number than
//! one already read. A reader that has read up to a number misses nothing.

pub mod deliveries;
pub(crate) mod number;
pub(crate) mod purge;
pub(crate) mod read;
pub mod subscriptions;

pub use number::{Numbered, is_waiting, number, position};
pub use purge::{counts_beyond, purge, purge_of, removed_up_to};
pub use read::{Filter, Stored, Visibility, after, count, first_since, next_after, page};

use crate::{
    StoreError, Tx,
    sql::{Column, Q, ROWS, push_rows},
};
use bailiwick_domain::{EventKind, OrgId, SystemId, Ts, UserId};
use serde_json::Value;

/// In the subject, a placeholder for the id of the system, which is known when the event is numbered.
pub const SYSTEM: &str = "{system}";

/// An event to write.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// When.
    pub at: Ts,
    /// Its type: `system.created`.
    pub kind: EventKind,
    /// The organization that owns the event's object; none = the organization of the system or user at this moment.
    /// Events of an organization that no longer exists when they are numbered are dropped.
    pub organization: Option<OrgId>,
    /// The object whose present place also counts when a caller reads the event.
    pub about: About,
    /// Id of the object.
    pub object_id: String,
    /// Path of the object; may contain [`SYSTEM`].
    pub subject: Option<String>,
    /// A JSON object: ids, names, changes. No secrets.
    pub data: Value,
}

/// The object of an event: a caller who may not read this object any more does not see the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Nothing but the organization.
    Organization,
    /// A system or a part of it.
    System(SystemId),
    /// A system or a part of it, of which only the key is known.
    SystemKey(String),
    User(UserId),
}

/// Writes events in the transaction of their change, before an object of theirs is removed or moved. Their organization
/// is determined now and does not change, whatever happens until they are numbered.
pub async fn write(tx: &mut Tx, events: &[NewEvent]) -> Result<(), StoreError> {
    for chunk in events.chunks(ROWS) {
        let each = || chunk.iter();
        let system = |about: &About| match about {
            About::System(id) => Some(id.0),
            _ => None,
        };
        let key = |about: &About| match about {
            About::SystemKey(key) => Some(key.clone()),
            _ => None,
        };
        let user = |about: &About| match about {
            About::User(id) => Some(id.0),
            _ => None,
        };
        let columns = vec![
            ("at", Column::times(each().map(|e| e.at))),
            ("type", Column::Texts(each().map(|e| Some(e.kind.to_string())).collect())),
            ("o", Column::SomeIds(each().map(|e| e.organization.map(|o| o.0)).collect())),
            ("object_id", Column::texts(each().map(|e| e.object_id.as_str()))),
            ("subject", Column::Texts(each().map(|e| e.subject.clone()).collect())),
            ("system_id", Column::SomeIds(each().map(|e| system(&e.about)).collect())),
            ("system_key", Column::Texts(each().map(|e| key(&e.about)).collect())),
            ("user_id", Column::SomeIds(each().map(|e| user(&e.about)).collect())),
            ("data", Column::Texts(each().map(|e| Some(e.data.to_string())).collect())),
        ];
        let mut q = Q::new(
            "INSERT INTO event_outbox (at, type, organization_id, object_id, subject, system_id, system_key, user_id, \
             data) SELECT v.at, v.type, COALESCE(v.o, \
             (SELECT s.organization_id FROM systems s WHERE s.id = v.system_id), \
             (SELECT s.organization_id FROM systems s WHERE s.system_key = v.system_key), \
             (SELECT u.organization_id FROM users u WHERE u.id = v.user_id)), v.object_id, v.subject, \
             COALESCE(v.system_id, (SELECT s.id FROM systems s WHERE s.system_key = v.system_key)), v.system_key, \
             v.user_id, [[CAST(v.data AS jsonb)||v.data]] FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.run(tx).await?;
    }
    Ok(())
}
