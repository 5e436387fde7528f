//! The place of a value in a document, and the two paths that describe it (spec: inventory-changes#paths).

use bailiwick_domain::json::Json;
use std::borrow::Cow;

/// Segments of the longest path; deeper values are compared as a whole (spec: inventory-changes#limits-and-order).
pub(super) const MAX_DEPTH: usize = 10;
/// Characters of the longest field path.
const MAX_FIELD_CHARS: usize = 500;
/// Characters of a key that rules match. No word of the rules is longer, and a key of a megabyte must not be copied for
/// each change below it.
const MAX_SEGMENT_CHARS: usize = 256;

/// The collections with special treatment, and the objects on the way to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    Root,
    Facts,
    Nodes,
    Modules,
    Module,
    Cluster,
    UserDomains,
    Features,
    Network,
    Zones,
    Wireguard,
    WireguardStatistics,
    Openvpn(&'static str),
    /// Sections of OpenVPN: paired by `section`, shown by their index.
    Sections,
    /// An object with data as keys.
    DataMap,
    /// Below a `nethvoice_*` key of a module every object is a data map.
    Counters,
    Elsewhere,
}

impl Collection {
    fn member(self, key: &str) -> Collection {
        match (self, key) {
            (Collection::Root, "facts") => Collection::Facts,
            (Collection::Facts, "nodes") => Collection::Nodes,
            (Collection::Facts, "mountpoints") => Collection::DataMap,
            (Collection::Facts, "modules") => Collection::Modules,
            (Collection::Facts, "cluster") => Collection::Cluster,
            (Collection::Facts, "features") => Collection::Features,
            (Collection::Module, "name_module_map") => Collection::DataMap,
            (Collection::Module, key) if key.starts_with("nethvoice_") => Collection::Counters,
            (Collection::Counters, _) => Collection::Counters,
            (Collection::Cluster, "user_domains") => Collection::UserDomains,
            (Collection::Features, "network") => Collection::Network,
            (Collection::Features, "wireguard") => Collection::Wireguard,
            (Collection::Features, "openvpn_rw") => Collection::Openvpn("instances"),
            (Collection::Features, "openvpn_tun") => Collection::Openvpn("tunnels"),
            (Collection::Features, "database_stats") => Collection::DataMap,
            (Collection::Network, "zones") => Collection::Zones,
            (Collection::Network, "zone_network_counts" | "configuration") => Collection::DataMap,
            (Collection::Wireguard, "servers") => Collection::DataMap,
            (Collection::Wireguard, "statistics") => Collection::WireguardStatistics,
            (Collection::Openvpn(sections), key) if key == sections => Collection::Sections,
            _ => Collection::Elsewhere,
        }
    }

    fn element(self) -> Collection {
        match self {
            Collection::Modules => Collection::Module,
            Collection::Counters => Collection::Counters,
            _ => Collection::Elsewhere,
        }
    }

    /// Whether the keys of an object here are data rather than names.
    const fn is_data_map(self) -> bool {
        matches!(self, Collection::Nodes | Collection::DataMap | Collection::Counters)
    }

    /// The field that identifies the elements of an array here.
    pub(super) const fn identity(self) -> Option<&'static str> {
        match self {
            Collection::Sections => Some("section"),
            _ => self.element_label(),
        }
    }

    /// The field shown instead of an index.
    const fn element_label(self) -> Option<&'static str> {
        match self {
            Collection::Modules => Some("id"),
            Collection::UserDomains | Collection::Zones => Some("name"),
            Collection::WireguardStatistics => Some("server"),
            _ => None,
        }
    }
}

/// The last step of the way to a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'j> {
    Root,
    Key(&'j str),
    /// Indices on either side, one at least.
    Element(Option<usize>, Option<usize>),
}

/// A value on both sides and the way to it.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f, 'j, 'a> {
    parent: Option<&'f Frame<'f, 'j, 'a>>,
    pub(super) step: Step<'j>,
    pub(super) collection: Collection,
    pub(super) depth: usize,
    pub(super) previous: Option<&'j Json<'a>>,
    pub(super) current: Option<&'j Json<'a>>,
}

impl<'f, 'j, 'a> Frame<'f, 'j, 'a> {
    pub(super) const fn root(previous: &'j Json<'a>, current: &'j Json<'a>) -> Self {
        let (previous, current) = (Some(previous), Some(current));
        Frame { parent: None, step: Step::Root, collection: Collection::Root, depth: 0, previous, current }
    }

    #[cfg(test)]
    pub(super) const fn parent(&self) -> Option<&'f Self> {
        self.parent
    }

    pub(super) fn member(
        &'f self,
        key: &'j str,
        previous: Option<&'j Json<'a>>,
        current: Option<&'j Json<'a>>,
    ) -> Self {
        let collection = self.collection.member(key);
        let (step, depth) = (Step::Key(key), self.depth + 1);
        Frame { parent: Some(self), step, collection, depth, previous, current }
    }

    /// An element by its indices in the arrays of this frame.
    pub(super) fn element(&'f self, previous: Option<usize>, current: Option<usize>) -> Self {
        let item = |array: Option<&'j Json<'a>>, index: Option<usize>| array?.as_arr()?.get(index?);
        Frame {
            parent: Some(self),
            step: Step::Element(previous, current),
            collection: self.collection.element(),
            depth: self.depth + 1,
            previous: item(self.previous, previous),
            current: item(self.current, current),
        }
    }

    /// Appends the structural path, which the rules match.
    pub(super) fn write_structural(&self, out: &mut String) {
        let Some(parent) = self.parent else { return };
        parent.write_structural(out);
        if self.depth > 1 {
            out.push('.');
        }
        match self.step {
            Step::Root => {}
            Step::Element(..) => out.push_str("[]"),
            Step::Key(_) if parent.collection.is_data_map() => out.push('*'),
            Step::Key(key) => {
                let shown = first_chars(key, MAX_SEGMENT_CHARS);
                let lower = if shown.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii()) {
                    Cow::Owned(shown.to_lowercase())
                } else {
                    Cow::Borrowed(shown)
                };
                out.extend(lower.chars().map(|c| if c == '.' { '_' } else { c }));
            }
        }
    }

    /// The path that is shown, at most 500 characters; `root` when empty.
    pub(super) fn field_path(&self) -> String {
        let mut path = String::new();
        self.write_field(&mut path);
        if path.is_empty() {
            return "root".to_owned();
        }
        if path.chars().nth(MAX_FIELD_CHARS).is_some() {
            let length = first_chars(&path, MAX_FIELD_CHARS - 3).len();
            path.truncate(length);
            path.push_str("...");
        }
        path
    }

    fn write_field(&self, out: &mut String) {
        let Some(parent) = self.parent else { return };
        parent.write_field(out);
        if self.depth > 1 {
            out.push('.');
        }
        let label_field = match self.step {
            Step::Element(..) => parent.collection.element_label(),
            Step::Key(_) if parent.collection == Collection::Nodes => Some("ui_name"),
            _ => None,
        };
        let segment = match (label_field.and_then(|field| self.label(field)), self.step) {
            (Some(label), _) => label.into(),
            (None, Step::Key(key)) => key.into(),
            (None, Step::Element(previous, current)) => {
                Cow::Owned(current.or(previous).unwrap_or_default().to_string())
            }
            (None, Step::Root) => Cow::Borrowed(""),
        };
        // One more than fits shows that it is cut.
        out.push_str(first_chars(&segment, MAX_FIELD_CHARS + 1));
    }

    fn label(&self, field: &str) -> Option<&'j str> {
        let label_in = |side: Option<&'j Json<'a>>| match crate::member(side?, field)? {
            Json::Str(text) if !text.is_empty() => Some(text.as_ref()),
            Json::Num(literal) => Some(*literal),
            _ => None,
        };
        label_in(self.current).or_else(|| label_in(self.previous))
    }
}

fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) if text.len() > count => &text[..end],
        _ => text,
    }
}
