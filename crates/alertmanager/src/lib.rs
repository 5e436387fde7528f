//! The alert router's rules: what systems may send, what they receive, and the lifecycles of alerts and silences.
//!
//! Pure: no clock, no storage, no network; `now` is an argument and everything stored goes in and out as plain data.
//! See spec: alerts#system-interface (the interface for systems) and spec: alert-router#fingerprint to spec:
//! alert-delivery#mail-and-telegram (the embedded router). To follow a push, read [`alert`] and then [`router`]; to
//! follow a list, [`query`], [`router`] (or [`answer`] for a remote router); to follow a notification, [`config`] and
//! then [`notify`].

#![warn(missing_docs, reason = "other programs could use this crate")]

pub mod active_silence;
pub mod alert;
pub mod answer;
pub mod config;
pub mod fingerprint;
pub mod history;
pub mod labels;
pub mod limits;
pub mod listing;
pub mod matcher;
pub mod notify;
pub mod query;
mod quote;
pub mod re2;
pub mod receivers;
pub mod redacted;
pub mod reject;
pub mod router;
pub mod sender_labels;
pub mod severity;
pub mod silence;
pub mod status;
pub mod texts;
pub mod time;
mod uri;
pub mod webhook_target;

pub use alert::{Batch, Intake, PostedAlert, parse_alerts};
pub use fingerprint::Fingerprint;
pub use labels::Labels;
pub use limits::Limits;
pub use listing::{AlertState, ListedAlert, ListedSilence, SilenceState};
pub use matcher::{Compiled, Matcher, Op};
pub use query::{AlertsQuery, SilencesQuery};
pub use reject::{Reject, RejectBody};
pub use router::{StoredAlert, StoredSilence};
pub use sender_labels::SenderLabels;
pub use severity::Severity;
pub use silence::{PostedSilence, SilenceIntake, parse_silence};
pub use time::Nanos;
