//! The events of use cases: one call in the transaction of the change, beside its audit row.

use bailiwick_domain::{
    EventTopic, Happening, OrgId, OrgType, Organization, System, SystemId, Ts, User, UserId, org::OrgRef,
};
use bailiwick_store::{
    StoreError, Tx,
    applications::ApplicationRecord,
    events::{self, About, NewEvent},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// An event without its time.
#[derive(Clone, Debug)]
pub struct EventDraft(NewEvent);

impl EventDraft {
    /// Of an organization.
    pub fn organization(happening: Happening, family: OrgType, id: OrgId, name: &str) -> EventDraft {
        let topic = EventTopic::Organization(family);
        let word = topic.as_str();
        EventDraft(NewEvent {
            at: Ts(0),
            kind: topic.kind(happening),
            organization: Some(id),
            about: About::Organization,
            object_id: id.to_string(),
            subject: Some(format!("/{word}s/{id}")),
            data: json!({"id": id, "name": name, "organization_id": id}),
        })
    }

    /// Of an organization that was removed or has moved out of reach, for the one that was above it.
    pub fn organization_gone(happening: Happening, gone: &Organization, above: OrgId) -> EventDraft {
        let mut draft = EventDraft::organization(happening, gone.org_type, gone.id, &gone.details.name);
        draft.0.organization = Some(above);
        draft.without_subject()
    }

    /// Of a system.
    pub fn system(happening: Happening, system: &System) -> EventDraft {
        let id = system.id;
        EventDraft(NewEvent {
            at: Ts(0),
            kind: EventTopic::System.kind(happening),
            organization: Some(system.organization.id),
            about: About::System(id),
            object_id: id.to_string(),
            subject: Some(format!("/systems/{id}")),
            data: json!({
                "id": id, "name": system.name, "system_key": system.shown_key(),
                "organization_id": system.organization.id, "organization_name": system.organization.name,
            }),
        })
    }

    /// Of a system with only id and key known; the rest is added when the event is numbered.
    pub fn system_by_id(happening: Happening, id: SystemId, system_key: &str) -> EventDraft {
        EventDraft(NewEvent {
            at: Ts(0),
            kind: EventTopic::System.kind(happening),
            organization: None,
            about: About::System(id),
            object_id: id.to_string(),
            subject: Some(format!("/systems/{id}")),
            data: json!({"id": id, "system_key": system_key}),
        })
    }

    /// Of a user.
    pub fn user(happening: Happening, user: &User) -> EventDraft {
        let id = user.id;
        EventDraft(NewEvent {
            at: Ts(0),
            kind: EventTopic::User.kind(happening),
            organization: Some(user.organization.id),
            about: About::User(id),
            object_id: id.to_string(),
            subject: Some(format!("/users/{id}")),
            data: json!({
                "id": id, "name": user.name, "username": user.username,
                "organization_id": user.organization.id, "organization_name": user.organization.name,
            }),
        })
    }

    /// Of an application; readers of its system may read it.
    pub fn application(happening: Happening, application: &ApplicationRecord) -> EventDraft {
        let ApplicationRecord { id, system_id, module_id, name, instance_of, .. } = application;
        EventDraft(NewEvent {
            at: Ts(0),
            kind: EventTopic::Application.kind(happening),
            organization: None,
            about: About::System(*system_id),
            object_id: id.to_string(),
            subject: Some(format!("/applications/{id}")),
            data: json!({"id": id, "module_id": module_id, "instance_of": instance_of, "name": name}),
        })
    }

    /// Of an impersonation, about the impersonated user. It leaves out the other user, whom the organization of the
    /// first could not read either.
    pub fn impersonation(happening: Happening, object_id: String, user: UserId) -> EventDraft {
        EventDraft(NewEvent {
            at: Ts(0),
            kind: EventTopic::Impersonation.kind(happening),
            organization: None,
            about: About::User(user),
            object_id,
            subject: Some(format!("/users/{user}")),
            data: json!({"user_id": user}),
        })
    }

    /// Addresses the event to the organization that the object has left; no user of it can read the object any more.
    pub fn left(mut self, organization: &OrgRef) -> EventDraft {
        self.0.kind.happening = Happening::Left;
        self.0.organization = Some(organization.id);
        self.0.about = About::Organization;
        self.0.subject = None;
        self.with(json!({"organization_id": organization.id, "organization_name": organization.name}))
    }

    /// Of an organization that the writer knows.
    pub fn for_organization(mut self, organization: OrgId) -> EventDraft {
        self.0.organization = Some(organization);
        self
    }

    /// Sets another path of the object than that of its type.
    pub fn with_subject(mut self, subject: String) -> EventDraft {
        self.0.subject = Some(subject);
        self
    }

    /// The object can be read no more.
    pub fn without_subject(mut self) -> EventDraft {
        self.0.subject = None;
        self
    }

    /// Adds to the data.
    pub fn with(mut self, more: Value) -> EventDraft {
        if let (Some(data), Value::Object(more)) = (self.0.data.as_object_mut(), more) {
            data.extend(more);
        }
        self
    }

    /// Adds the names of the fields that differ.
    pub fn with_changes(self, before: &Value, after: &Value) -> EventDraft {
        let changed = differing(before, after);
        self.with(json!({ "changed": changed }))
    }

    /// Writes it in the transaction of the change.
    pub async fn write(self, tx: &mut Tx, at: Ts) -> Result<(), StoreError> {
        events::write(tx, &[NewEvent { at, ..self.0 }]).await
    }
}

impl EventDraft {
    /// Writes all of them in the transaction of the change.
    pub async fn write_all(
        all: impl Iterator<Item = EventDraft>,
        tx: &mut Tx,
        at: Ts,
    ) -> Result<(), StoreError> {
        let all: Vec<NewEvent> = all.map(|draft| NewEvent { at, ..draft.0 }).collect();
        events::write(tx, &all).await
    }
}

/// The keys whose values differ, in alphabetical order; a key that one of the two lacks is among them.
fn differing<'a>(before: &'a Value, after: &'a Value) -> BTreeSet<&'a String> {
    let keys = [before, after].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    keys.filter(|key| before.get(*key) != after.get(*key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_leaves_itself_out_has_changed_too() {
        let (before, after) =
            (json!({"kept": 1, "cleared": 2, "other": 3}), json!({"kept": 1, "other": 4, "added": 5}));
        assert_eq!(json!(differing(&before, &after)), json!(["added", "cleared", "other"]));
    }
}
