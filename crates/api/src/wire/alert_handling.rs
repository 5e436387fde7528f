//! Silences, notes and assignees of alerts (spec: alert-management#handling).

use super::alerts::AssigneeOutput;
use bailiwick_alertmanager::{ListedSilence, Matcher, SilenceState};
use bailiwick_alerts::manage::{
    Assign, Assignment, Event, FoundSilence, FoundSilences, MAX_FINGERPRINT_CHARS, MAX_NOTE_CHARS, NewNote,
    NewSilence, SilenceChange,
};
use bailiwick_domain::OrgId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A silence to create for one active alert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SilenceInput {
    /// Fingerprint of the active alert to silence.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_FINGERPRINT_CHARS))))]
    pub fingerprint: Option<String>,
    /// Why the alert is silenced; by default `silenced from Bailiwick`.
    pub comment: Option<String>,
    /// Length of the silence in minutes, from 1 to 10080; 60 by default.
    pub duration_minutes: Option<i64>,
    /// End of the silence in RFC 3339. Takes precedence over `duration_minutes`.
    #[schema(format = DateTime)]
    pub end_at: Option<String>,
}

impl From<SilenceInput> for NewSilence {
    fn from(i: SilenceInput) -> NewSilence {
        NewSilence {
            fingerprint: i.fingerprint.unwrap_or_default(),
            comment: i.comment.unwrap_or_default(),
            duration_minutes: i.duration_minutes,
            end_at: i.end_at.filter(|end| !end.is_empty()),
        }
    }
}

/// A new end and comment for a silence.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SilenceChangeInput {
    /// New end of the silence in RFC 3339.
    #[schema(format = DateTime, required = true, nullable = false)]
    pub end_at: Option<String>,
    /// New comment. The stored one stays if this is absent, null or blank.
    pub comment: Option<String>,
}

impl From<SilenceChangeInput> for SilenceChange {
    fn from(i: SilenceChangeInput) -> SilenceChange {
        SilenceChange { end_at: i.end_at, comment: i.comment }
    }
}

/// The id of a silence that was created or changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceIdOutput {
    /// Id that is valid from now on. A change can give a silence a new id.
    pub silence_id: String,
}

/// A condition on one label.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatcherOutput {
    /// Name of the label.
    pub name: String,
    /// Value or regular expression that the label is compared with.
    pub value: String,
    /// Whether `value` is a regular expression.
    pub is_regex: bool,
    /// Whether the label must match. If false, it must not match.
    pub is_equal: bool,
}

impl From<Matcher> for MatcherOutput {
    fn from(m: Matcher) -> MatcherOutput {
        MatcherOutput { is_regex: m.op.is_regex(), is_equal: m.op.is_equal(), name: m.name, value: m.value }
    }
}

/// The state of a silence.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceStatusOutput {
    /// State at present: `active`, `pending` (not begun yet) or `expired`.
    #[schema(value_type = String, extensions(("x-enum" = json!(SilenceState::ALL))))]
    pub state: SilenceState,
}

/// A silence. Alerts that match it cause no notifications while it is active.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SilenceOutput {
    /// Unique identifier of the silence.
    pub id: String,
    /// Conditions on the labels of an alert, all of which must hold.
    pub matchers: Vec<MatcherOutput>,
    /// When the silence begins.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// When the silence ends.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// When the silence was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Name of the person or program that created the silence.
    pub created_by: String,
    /// Why the alerts are silenced.
    pub comment: String,
    /// The state of the silence.
    pub status: SilenceStatusOutput,
}

impl From<ListedSilence> for SilenceOutput {
    fn from(s: ListedSilence) -> SilenceOutput {
        SilenceOutput {
            id: s.id.to_string(),
            matchers: s.matchers.into_iter().map(MatcherOutput::from).collect(),
            starts_at: s.starts_at.millis(),
            ends_at: s.ends_at.millis(),
            updated_at: s.updated_at.millis(),
            created_by: s.created_by,
            comment: s.comment,
            status: SilenceStatusOutput { state: s.status.state },
        }
    }
}

/// One silence.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneSilence {
    /// The silence.
    pub silence: SilenceOutput,
}

/// The silences of one system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemSilenceList {
    /// The silences that have not expired: active ones by their end, then pending ones by their start.
    pub silences: Vec<SilenceOutput>,
}

impl From<Vec<ListedSilence>> for SystemSilenceList {
    fn from(silences: Vec<ListedSilence>) -> SystemSilenceList {
        SystemSilenceList { silences: silences.into_iter().map(SilenceOutput::from).collect() }
    }
}

/// A silence, with the organization and system that it belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlacedSilence {
    /// The silence.
    #[serde(flatten)]
    pub silence: SilenceOutput,
    /// Id of the organization.
    pub organization_id: String,
    /// Key of the system.
    pub system_key: String,
}

impl From<FoundSilence> for PlacedSilence {
    fn from(f: FoundSilence) -> PlacedSilence {
        PlacedSilence {
            silence: f.silence.into(),
            organization_id: f.organization_id.to_string(),
            system_key: f.system_key,
        }
    }
}

/// The silences of the systems within reach.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceList {
    /// The silences that have not expired: active ones by their end, then pending ones by their start; at most 5,000.
    pub silences: Vec<PlacedSilence>,
    /// What is missing from the list: organizations that could not be asked, and silences beyond the first 5,000.
    pub warnings: Vec<String>,
}

impl From<FoundSilences> for SilenceList {
    fn from(f: FoundSilences) -> SilenceList {
        SilenceList {
            silences: f.silences.into_iter().map(PlacedSilence::from).collect(),
            warnings: f.warnings,
        }
    }
}

/// Something that was done about an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventOutput {
    /// Unique number of the entry.
    pub id: i64,
    /// Id of the alert's organization.
    pub organization_id: String,
    /// Fingerprint of the alert.
    pub fingerprint: String,
    /// What was done: `silenced`, `silence_updated`, `unsilenced`, `assigned`, `unassigned` or `note_added`.
    pub action: String,
    /// Id of the user who did it. Absent when the service did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_user_id: Option<String>,
    /// Name of the user who did it. Absent when the service did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// Id of the silence that the entry is about. Absent for other entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_id: Option<String>,
    /// More about the action, such as its comment or the text of a note. The fields depend on `action`.
    pub details: Value,
    /// When it was done.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// What was done about an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActivityOutput {
    /// The entries, newest first.
    pub events: Vec<EventOutput>,
}

impl ActivityOutput {
    /// Of an alert of an organization.
    pub fn of(organization: OrgId, fingerprint: &str, events: Vec<Event>) -> ActivityOutput {
        let event = |e: Event| {
            let (user, name) = e.actor.map(|(id, name)| (id.to_string(), name)).unzip();
            EventOutput {
                id: e.id,
                organization_id: organization.to_string(),
                fingerprint: fingerprint.to_owned(),
                action: e.action,
                actor_user_id: user,
                actor_name: name,
                silence_id: e.silence_id.map(|id| id.to_string()),
                details: e.details,
                created_at: e.created_at.to_string(),
            }
        };
        ActivityOutput { events: events.into_iter().map(event).collect() }
    }
}

/// A note about an alert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct NoteInput {
    /// Fingerprint of the alert.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_FINGERPRINT_CHARS))))]
    pub fingerprint: Option<String>,
    /// Text of the note, from 1 to 2000 characters.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_NOTE_CHARS))))]
    pub text: Option<String>,
}

impl From<NoteInput> for NewNote {
    fn from(i: NoteInput) -> NewNote {
        NewNote { fingerprint: i.fingerprint.unwrap_or_default(), text: i.text.unwrap_or_default() }
    }
}

/// An alert that the caller takes charge of.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AssignmentInput {
    /// Fingerprint of an active alert.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_FINGERPRINT_CHARS))))]
    pub fingerprint: Option<String>,
    /// A note for the record, at most 2000 characters.
    #[schema(extensions(("x-maxLength" = json!(MAX_NOTE_CHARS))))]
    pub note: Option<String>,
}

impl From<AssignmentInput> for Assign {
    fn from(i: AssignmentInput) -> Assign {
        Assign { fingerprint: i.fingerprint.unwrap_or_default(), note: i.note.unwrap_or_default() }
    }
}

/// The user in charge of an alert. Ends when the alert is resolved.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssignmentOutput {
    /// Id of the alert's organization.
    pub organization_id: String,
    /// Fingerprint of the alert.
    pub fingerprint: String,
    /// Id of the user in charge.
    pub assigned_user_id: String,
    /// Name of that user at the time of the assignment.
    pub assigned_user_name: String,
    /// Id of that user's organization.
    pub assigned_user_org_id: String,
    /// Name of that organization at the time of the assignment.
    pub assigned_user_org_name: String,
    /// When the user took charge.
    #[schema(format = DateTime)]
    pub assigned_at: String,
}

/// The new assignment of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneAssignment {
    /// The assignment.
    pub assignment: AssignmentOutput,
}

impl From<(OrgId, String, Assignment)> for OneAssignment {
    fn from((organization, fingerprint, assignment): (OrgId, String, Assignment)) -> OneAssignment {
        let a = AssigneeOutput::from(assignment);
        OneAssignment {
            assignment: AssignmentOutput {
                organization_id: organization.to_string(),
                fingerprint,
                assigned_user_id: a.user_id,
                assigned_user_name: a.user_name,
                assigned_user_org_id: a.user_org_id,
                assigned_user_org_name: a.user_org_name,
                assigned_at: a.assigned_at,
            },
        }
    }
}
