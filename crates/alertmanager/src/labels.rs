//! A set of names with values: labels or annotations.

use bailiwick_domain::json::write_str;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{cmp::Ordering, fmt};

/// Names with values, each name once, sorted by the bytes of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// No labels.
    pub const fn new() -> Labels {
        Labels(Vec::new())
    }

    /// From pairs in any order; of several pairs with one name the last counts.
    pub fn from_pairs(mut pairs: Vec<(String, String)>) -> Labels {
        if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            pairs.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Labels(pairs)
    }

    /// The value, if the name is present.
    pub fn get(&self, name: &str) -> Option<&str> {
        let index = self.0.binary_search_by(|(n, _)| n.as_str().cmp(name)).ok()?;
        Some(&self.0[index].1)
    }

    /// The value; a missing name has the value `""` (spec: alert-router#matchers).
    pub fn value(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Sets a value.
    pub fn insert(&mut self, name: &str, value: impl Into<String>) {
        match self.0.binary_search_by(|(n, _)| n.as_str().cmp(name)) {
            Ok(index) => self.0[index].1 = value.into(),
            Err(index) => self.0.insert(index, (name.to_owned(), value.into())),
        }
    }

    /// Keeps the pairs for which the function is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|(n, v)| keep(n, v));
    }

    /// The pairs in order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    /// How many names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// No name at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all names and values.
    pub fn size(&self) -> usize {
        self.0.iter().map(|(n, v)| n.len() + v.len()).sum()
    }

    /// Appends the set as a JSON object.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        for (i, (name, value)) in self.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_str(out, name);
            out.push(':');
            write_str(out, value);
        }
        out.push('}');
    }

    /// The order of label sets (spec: alert-router#groups): fewer labels first; else over all names ascending, the
    /// first that is missing on one side (missing first) or has a smaller value decides.
    pub fn set_order(&self, other: &Labels) -> Ordering {
        let by_count = self.len().cmp(&other.len());
        if by_count.is_ne() {
            return by_count;
        }
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            match mine.0.cmp(&theirs.0) {
                // The other side lacks the smaller name, and the side that lacks it comes first.
                Ordering::Less => return Ordering::Greater,
                Ordering::Greater => return Ordering::Less,
                Ordering::Equal => {}
            }
            let by_value = mine.1.cmp(&theirs.1);
            if by_value.is_ne() {
                return by_value;
            }
        }
        Ordering::Equal
    }
}

/// Is this a label name in the classic alphabet, `[a-zA-Z_][a-zA-Z0-9_]*`?
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Labels {
        Labels::from_pairs(pairs.into_iter().map(|(n, v)| (n.into(), v.into())).collect())
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Labels, D::Error> {
        struct Pairs;
        impl<'de> de::Visitor<'de> for Pairs {
            type Value = Labels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(8).min(64));
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Labels::from_pairs(pairs))
            }
        }
        d.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_names_sorted_and_unique() {
        let mut l: Labels = [("b", "1"), ("a", "2"), ("b", "3")].into_iter().collect();
        assert_eq!(serde_json::to_string(&l).unwrap(), r#"{"a":"2","b":"3"}"#);
        l.insert("aa", "\"");
        assert_eq!((l.get("aa"), l.get("c"), l.value("c")), (Some("\""), None, ""));
        let mut out = String::new();
        l.write(&mut out);
        assert_eq!(out, r#"{"a":"2","aa":"\"","b":"3"}"#);
        assert_eq!(serde_json::from_str::<Labels>(&out).unwrap(), l);
    }

    #[test]
    fn names() {
        for good in ["a", "_", "A9_", "alertname"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "9a", "a-b", "a:b", "é", "a b"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn set_order() {
        let l = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Labels>();
        let sorted =
            [l(&[]), l(&[("b", "1")]), l(&[("a", "1")]), l(&[("a", "2")]), l(&[("a", "1"), ("c", "0")])];
        for (i, x) in sorted.iter().enumerate() {
            for (j, y) in sorted.iter().enumerate() {
                assert_eq!(x.set_order(y), i.cmp(&j), "{x:?} {y:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn last_of_a_name_wins(pairs in prop::collection::vec(("[a-c]", "[0-9]"), 0..12)) {
            let map: std::collections::BTreeMap<_, _> = pairs.iter().cloned().collect();
            let labels = Labels::from_pairs(pairs);
            prop_assert_eq!(labels.iter().collect::<Vec<_>>(), map.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect::<Vec<_>>());
        }
    }
}
