//! Silences, notes and assignees of alerts (spec: alert-management#handling).

use super::alerts::AssigneeOutput;
use bailiwick_alerting::{ListedSilence, Matcher, SilenceState};
use bailiwick_alerts::manage::{
    Assign, Assignment, Event, FoundSilence, FoundSilences, NewNote, NewSilence, SilenceChange,
};
use bailiwick_domain::OrgId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Body of a new silence.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SilenceInput {
    /// The alert.
    #[schema(required = true, nullable = false)]
    pub fingerprint: Option<String>,
    /// Comment.
    pub comment: Option<String>,
    /// 1 to 10080; 60 unless said.
    pub duration_minutes: Option<i64>,
    /// RFC 3339; wins over the duration.
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

/// Body of a change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SilenceChangeInput {
    /// RFC 3339.
    #[schema(format = DateTime, required = true, nullable = false)]
    pub end_at: Option<String>,
    /// Absent, null and blank keep it.
    pub comment: Option<String>,
}

impl From<SilenceChangeInput> for SilenceChange {
    fn from(i: SilenceChangeInput) -> SilenceChange {
        SilenceChange { end_at: i.end_at, comment: i.comment }
    }
}

/// The id of a silence.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceIdOutput {
    /// Valid from now on.
    pub silence_id: String,
}

/// One condition.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatcherOutput {
    /// Label.
    pub name: String,
    /// Literal value or expression.
    pub value: String,
    /// Whether the value is an expression.
    pub is_regex: bool,
    /// Whether it must match.
    pub is_equal: bool,
}

impl From<Matcher> for MatcherOutput {
    fn from(m: Matcher) -> MatcherOutput {
        MatcherOutput { is_regex: m.op.is_regex(), is_equal: m.op.is_equal(), name: m.name, value: m.value }
    }
}

/// State of a silence.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceStatusOutput {
    /// `active`, `pending` or `expired`.
    pub state: &'static str,
}

/// A silence.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SilenceOutput {
    /// Id.
    pub id: String,
    /// All must match.
    pub matchers: Vec<MatcherOutput>,
    /// Start.
    #[schema(format = DateTime)]
    pub starts_at: String,
    /// End.
    #[schema(format = DateTime)]
    pub ends_at: String,
    /// Last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Author.
    pub created_by: String,
    /// Comment.
    pub comment: String,
    /// State.
    pub status: SilenceStatusOutput,
}

impl From<ListedSilence> for SilenceOutput {
    fn from(s: ListedSilence) -> SilenceOutput {
        let state = match s.status.state {
            SilenceState::Active => "active",
            SilenceState::Pending => "pending",
            SilenceState::Expired => "expired",
        };
        SilenceOutput {
            id: s.id.to_string(),
            matchers: s.matchers.into_iter().map(MatcherOutput::from).collect(),
            starts_at: s.starts_at.millis(),
            ends_at: s.ends_at.millis(),
            updated_at: s.updated_at.millis(),
            created_by: s.created_by,
            comment: s.comment,
            status: SilenceStatusOutput { state },
        }
    }
}

/// One silence.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneSilence {
    /// It.
    pub silence: SilenceOutput,
}

/// Silences of a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemSilenceList {
    /// Not expired.
    pub silences: Vec<SilenceOutput>,
}

impl From<Vec<ListedSilence>> for SystemSilenceList {
    fn from(silences: Vec<ListedSilence>) -> SystemSilenceList {
        SystemSilenceList { silences: silences.into_iter().map(SilenceOutput::from).collect() }
    }
}

/// A silence with its place.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlacedSilence {
    /// The silence.
    #[serde(flatten)]
    pub silence: SilenceOutput,
    /// Organization.
    pub organization_id: String,
    /// System.
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

/// Silences across systems.
#[derive(Debug, Serialize, ToSchema)]
pub struct SilenceList {
    /// Not expired.
    pub silences: Vec<PlacedSilence>,
    /// What could not be asked or shown.
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

/// What was done about an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventOutput {
    /// Number.
    pub id: i64,
    /// Organization.
    pub organization_id: String,
    /// The alert.
    pub fingerprint: String,
    /// `silenced`, `silence_updated`, `unsilenced`, `assigned`, `unassigned` or `note_added`.
    pub action: String,
    /// The user; absent when the service did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_user_id: Option<String>,
    /// The user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// The silence it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_id: Option<String>,
    /// More, by the action.
    pub details: Value,
    /// When.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// The record of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActivityOutput {
    /// The newest first.
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

/// Body of a note.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct NoteInput {
    /// The alert.
    #[schema(required = true, nullable = false)]
    pub fingerprint: Option<String>,
    /// 1 to 2000 characters.
    #[schema(required = true, nullable = false)]
    pub text: Option<String>,
}

impl From<NoteInput> for NewNote {
    fn from(i: NoteInput) -> NewNote {
        NewNote { fingerprint: i.fingerprint.unwrap_or_default(), text: i.text.unwrap_or_default() }
    }
}

/// Body of taking charge.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AssignmentInput {
    /// The alert.
    #[schema(required = true, nullable = false)]
    pub fingerprint: Option<String>,
    /// At most 2000 characters.
    pub note: Option<String>,
}

impl From<AssignmentInput> for Assign {
    fn from(i: AssignmentInput) -> Assign {
        Assign { fingerprint: i.fingerprint.unwrap_or_default(), note: i.note.unwrap_or_default() }
    }
}

/// The user who takes care of an alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct AssignmentOutput {
    /// Organization of the alert.
    pub organization_id: String,
    /// The alert.
    pub fingerprint: String,
    /// User.
    pub assigned_user_id: String,
    /// The user's name.
    pub assigned_user_name: String,
    /// The user's organization.
    pub assigned_user_org_id: String,
    /// Its name.
    pub assigned_user_org_name: String,
    /// Since when.
    #[schema(format = DateTime)]
    pub assigned_at: String,
}

/// An assignment.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneAssignment {
    /// It.
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
