//! Walks a routing tree with the service's own matchers, as an Alertmanager does (spec: alert-delivery#routing): depth
//! first, left to right, children before their parent, no further sibling unless the node says `continue`.

use super::{document::Route, plan::of_severity};
use crate::{Compiled, Labels, Matcher, Severity, matcher::all_match, re2::RegexError};
use std::{fmt, sync::OnceLock, time::Duration};

/// A routing tree, ready to be asked.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Node,
}

#[derive(Clone, Debug)]
struct Node {
    matchers: Vec<Compiled>,
    continues: bool,
    destination: Destination,
    children: Vec<Node>,
}

/// The destination of an alert: a node of the tree with its inherited values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Name of the receiver.
    pub receiver: String,
    /// The matchers on the way from the root: `{}/{organization_id="…"}/{severity="critical"}`.
    pub route: String,
    /// Labels that make a group.
    pub group_by: Vec<String>,
    /// Wait before the first message of a group.
    pub group_wait: Duration,
    /// Wait before the next one.
    pub group_interval: Duration,
    /// After which time a message without news is sent again.
    pub repeat_interval: Duration,
}

/// Why a tree cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError(String);

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TreeError {}

/// Deepest tree; ours have three levels.
const MAX_DEPTH: usize = 16;

impl Tree {
    /// Compiles a tree.
    ///
    /// # Errors
    /// A matcher that cannot be read, or a tree that is too deep.
    pub fn new(root: &Route) -> Result<Tree, TreeError> {
        // The defaults of an Alertmanager for a root without these values.
        let unsaid = Destination {
            receiver: String::new(),
            route: String::new(),
            group_by: Vec::new(),
            group_wait: Duration::from_secs(30),
            group_interval: Duration::from_secs(300),
            repeat_interval: Duration::from_secs(4 * 3600),
        };
        Ok(Tree { root: Node::new(root, &unsaid, MAX_DEPTH)? })
    }

    /// The destinations of an alert with these labels, in the order of the tree. There is at least one, as the root
    /// takes every alert that no other node does.
    pub fn route(&self, labels: &Labels) -> Vec<&Destination> {
        let mut found = Vec::new();
        self.root.find(labels, &mut found);
        if found.is_empty() { vec![&self.root.destination] } else { found }
    }
}

/// Every tree of this service matches info, once more for each system with recipients of its own: that expression is
/// compiled once for all of them.
fn compiled(matcher: Matcher) -> Result<Compiled, RegexError> {
    static INFO: OnceLock<Option<Compiled>> = OnceLock::new();
    match INFO.get_or_init(|| of_severity(Severity::Info).compile().ok()) {
        Some(info) if *info.matcher() == matcher => Ok(info.clone()),
        _ => matcher.compile(),
    }
}

impl Node {
    fn new(route: &Route, parent: &Destination, depth: usize) -> Result<Node, TreeError> {
        let deeper =
            depth.checked_sub(1).ok_or_else(|| TreeError("the routing tree is too deep".to_owned()))?;
        let read = |text: &String| {
            let matcher = Matcher::parse(text.as_bytes()).map_err(|e| TreeError(e.to_string()))?;
            compiled(matcher).map_err(|e| TreeError(e.to_string()))
        };
        let matchers = route.matchers.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let step = matchers.iter().map(|m| m.matcher().to_string()).collect::<Vec<_>>().join(",");
        let separator = if parent.route.is_empty() { "" } else { "/" };
        let destination = Destination {
            receiver: route.receiver.clone(),
            route: format!("{}{separator}{{{step}}}", parent.route),
            group_by: route.group_by.as_ref().unwrap_or(&parent.group_by).clone(),
            group_wait: route.group_wait.map_or(parent.group_wait, |s| s.0),
            group_interval: route.group_interval.map_or(parent.group_interval, |s| s.0),
            repeat_interval: route.repeat_interval.map_or(parent.repeat_interval, |s| s.0),
        };
        let children = route
            .routes
            .iter()
            .map(|child| Node::new(child, &destination, deeper))
            .collect::<Result<_, _>>()?;
        Ok(Node { matchers, continues: route.continues == Some(true), destination, children })
    }

    /// Adds the destinations of an alert at or below this node; false if the node does not match.
    fn find<'t>(&'t self, labels: &Labels, destinations: &mut Vec<&'t Destination>) -> bool {
        if !all_match(&self.matchers, labels) {
            return false;
        }
        let before = destinations.len();
        for child in &self.children {
            if child.find(labels, destinations) && !child.continues {
                break;
            }
        }
        if destinations.len() == before {
            destinations.push(&self.destination);
        }
        true
    }
}

impl Destination {
    /// The labels of the alert that determine its group here.
    pub fn group_labels(&self, labels: &Labels) -> Labels {
        let mut group = labels.clone();
        group.retain(|name, _| self.group_by.iter().any(|by| by == name));
        group
    }

    /// The name of a group in the notification log and in messages: `<route>:{a="b", c="d"}`.
    pub fn group_key(&self, group_labels: &Labels) -> String {
        let pairs: Vec<String> =
            group_labels.iter().map(|(name, value)| Matcher::equal(name, value).to_string()).collect();
        format!("{}:{{{}}}", self.route, pairs.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expression_of_every_tree_is_compiled_once() {
        let info = || compiled(of_severity(Severity::Info)).unwrap();
        assert!(info().shares_with(&info().clone()));
        let other = Matcher { value: "critical".to_owned(), ..of_severity(Severity::Info) };
        let other = compiled(other).unwrap();
        assert!(
            !other.shares_with(&info()) && !other.matches_value("critical") && other.matches_value("warning")
        );
        assert!(info().matches_value("critical|warning") && !info().matches_value("warning"));
    }
}
