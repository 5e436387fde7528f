//! The differences between two documents of a system, and their severity (spec: inventory-changes#comparison).
//!
//! [`Rules::diff`] is a function of the two documents and the rules alone: no clock, no state, always the same answer.
//! The walk (`compare`) finds the differences, the paths (`path`) locate them, the rules (`rules`) classify them; this
//! module sorts and limits the result.

mod compare;
mod number;
mod path;
mod rules;

pub use rules::{Rules, RulesError};

use crate::Document;
use bailiwick_domain::json::Json;
use path::Frame;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;

/// Changes kept of one document (spec: inventory-changes#limits-and-order).
pub const MAX_CHANGES: usize = 1000;

/// The kind of a change, in the order of spec: inventory-changes#limits-and-order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the previous document has it.
    Delete,
    /// It has another value.
    Update,
    /// Only the current document has it.
    Create,
}

/// How much a change matters, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is gone or broken.
    Critical,
    /// A new version, an application more or less.
    High,
    /// A setting.
    Medium,
    /// Everything else.
    Low,
}

/// The part of the system a change belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Category {
    Modules,
    Backup,
    Hardware,
    Security,
    Network,
    Os,
    Cluster,
    Nodes,
    Features,
    System,
}

macro_rules! words {
    ($type:ident: $($variant:ident $word:literal),+) => {
        impl $type {
            /// All of them, in order.
            pub const ALL: &[$type] = &[$($type::$variant),+];

            /// The word of the interface.
            pub const fn word(self) -> &'static str {
                match self {
                    $($type::$variant => $word),+
                }
            }

            /// The value of a word.
            pub fn of_word(word: &str) -> Option<$type> {
                match word {
                    $($word => Some($type::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
words!(ChangeKind: Delete "delete", Update "update", Create "create");
words!(Severity: Critical "critical", High "high", Medium "medium", Low "low");
words!(Category: Modules "modules", Backup "backup", Hardware "hardware", Security "security", Network "network",
    Os "os", Cluster "cluster", Nodes "nodes", Features "features", System "system");

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The kind of change.
    pub kind: ChangeKind,
    /// Where it belongs.
    pub category: Category,
    /// How much it matters.
    pub severity: Severity,
    /// The path the rules looked at: lower case, indices and keys that are data replaced (spec:
    /// inventory-changes#paths).
    pub structural_path: String,
    /// The path to show, at most 500 characters.
    pub field_path: String,
    /// The value before as compact JSON; none for a created one.
    pub previous: Option<String>,
    /// The value now as compact JSON; none for a deleted one.
    pub current: Option<String>,
}

/// The changes from one document to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// At most [`MAX_CHANGES`], in the order of spec: inventory-changes#limits-and-order.
    pub changes: Vec<Change>,
    /// Significant changes beyond that.
    pub dropped: usize,
}

/// A change that may be kept; ordered as they are listed.
struct PossibleChange<'j, 'a> {
    /// The last field distinguishes two elements that have the same label and show the same values.
    order: (Severity, String, String, ChangeKind, usize),
    category: Category,
    previous: Option<&'j Json<'a>>,
    current: Option<&'j Json<'a>>,
}

impl PartialEq for PossibleChange<'_, '_> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for PossibleChange<'_, '_> {}

impl PartialOrd for PossibleChange<'_, '_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PossibleChange<'_, '_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl Rules {
    /// The significant changes from one document to another.
    pub fn diff(&self, previous: &Document<'_>, current: &Document<'_>) -> Diff {
        // Only as many changes are held as are kept, however many there are.
        let mut worst: BinaryHeap<PossibleChange<'_, '_>> = BinaryHeap::new();
        let mut count = 0;
        let mut path = String::new();
        compare::walk(&Frame::root(previous.root(), current.root()), &mut |frame, kind| {
            path.clear();
            frame.write_structural(&mut path);
            let Some((category, severity)) = self.judge(&path, kind, frame.previous, frame.current) else {
                return;
            };
            count += 1;
            let is_full = worst.len() == MAX_CHANGES;
            let is_worse = |last: &PossibleChange<'_, '_>| {
                (severity, path.as_str()) > (last.order.0, last.order.1.as_str())
            };
            if is_full && worst.peek().is_some_and(is_worse) {
                return;
            }
            let order = (severity, path.clone(), frame.field_path(), kind, count);
            worst.push(PossibleChange { order, category, previous: frame.previous, current: frame.current });
            if is_full {
                worst.pop();
            }
        });
        let dropped = count - worst.len();
        let changes = worst.into_sorted_vec().into_iter().map(PossibleChange::into_change).collect();
        Diff { changes, dropped }
    }
}

impl PossibleChange<'_, '_> {
    fn into_change(self) -> Change {
        let text = |value: Option<&Json<'_>>| {
            value.map(|value| {
                let mut text = String::new();
                value.write(&mut text);
                text
            })
        };
        let (severity, structural_path, field_path, kind, _) = self.order;
        let (previous, current) = (text(self.previous), text(self.current));
        Change { kind, category: self.category, severity, structural_path, field_path, previous, current }
    }
}

#[cfg(test)]
mod tests;
