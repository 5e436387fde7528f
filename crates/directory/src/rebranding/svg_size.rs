//! Counts the elements a picture draws: a referenced element is drawn again for each reference, with everything it
//! refers to.

use std::collections::HashMap;

/// An element with an id, or the picture itself: its elements up to the next inner one that has an id.
#[derive(Default)]
struct Part {
    elements: u64,
    inner: Vec<usize>,
    refers_to: Vec<String>,
}

/// The parts of a picture as it is read.
#[derive(Default)]
pub(super) struct Copies {
    parts: Vec<Part>,
    ids: HashMap<String, usize>,
    /// The part of each open element.
    open: Vec<usize>,
}

impl Copies {
    /// An element begins.
    pub fn start(&mut self, local: &str, attributes: &[(String, String)]) {
        let id = attributes.iter().find(|(name, _)| name == "id").map(|(_, id)| id);
        let around = self.open.last().copied();
        let part = match around {
            Some(part) if id.is_none() => part,
            _ => {
                self.parts.push(Part::default());
                self.parts.len() - 1
            }
        };
        if let Some(around) = around.filter(|around| *around != part) {
            self.parts[around].inner.push(part);
        }
        if let Some(id) = id {
            self.ids.entry(id.clone()).or_insert(part);
        }
        self.open.push(part);
        self.parts[part].elements += 1;
        self.parts[part]
            .refers_to
            .extend(attributes.iter().flat_map(|(name, value)| drawn(local, name, value)));
    }

    /// An element ends.
    pub fn end(&mut self) {
        self.open.pop();
    }

    /// Number of drawn elements; infinite when something contains itself.
    pub fn drawn(&self) -> u64 {
        let mut sums: Vec<Option<u64>> = vec![None; self.parts.len()];
        let mut has_begun = vec![false; self.parts.len()];
        let mut stack = Vec::from_iter((!self.parts.is_empty()).then_some(0));
        while let Some(part) = stack.last().copied() {
            if !has_begun[part] {
                has_begun[part] = true;
                stack.extend(self.below(part).filter(|part| !has_begun[*part]));
                continue;
            }
            stack.pop();
            if sums[part].is_none() {
                // A part that was visited and has no sum yet encloses this one.
                let below = self.below(part).map(|below| sums[below].unwrap_or(u64::MAX));
                sums[part] = Some(below.fold(self.parts[part].elements, u64::saturating_add));
            }
        }
        sums.first().copied().flatten().unwrap_or(0)
    }

    fn below(&self, part: usize) -> impl Iterator<Item = usize> {
        let part = &self.parts[part];
        part.inner.iter().chain(part.refers_to.iter().filter_map(|id| self.ids.get(id))).copied()
    }
}

/// Ids that an attribute causes to be drawn: `href="#id"`, `fill="url(#id)"`.
fn drawn(local: &str, name: &str, value: &str) -> Vec<String> {
    let is_link = name.rsplit(':').next() == Some("href");
    let points_only = matches!(local, "a" | "textPath" | "mpath" | "set") || local.starts_with("animate");
    if is_link {
        let id = value.trim().strip_prefix('#').filter(|_| !points_only);
        return id.map(str::to_owned).into_iter().collect();
    }
    let lower = value.to_ascii_lowercase();
    lower
        .match_indices("url(")
        .filter_map(|(at, url)| {
            let address = value[at + url.len()..].trim_start_matches([' ', '\t', '\n', '\r', '"', '\'']);
            let id = address.strip_prefix('#')?;
            id.split([')', '"', '\'', ' ', '\t', '\n', '\r']).next().map(str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of ten references each to the level before.
    fn levels(levels: usize, local: &str, name: &str, around: (&str, &str)) -> u64 {
        let mut copies = Copies::default();
        let attribute = |name: &str, value: String| (name.to_owned(), value);
        copies.start("svg", &[]);
        for level in 0..levels {
            copies.start("g", &[attribute("id", format!("g{level}"))]);
            for _ in 0..10 {
                let value = format!("{}#g{}{}", around.0, level.wrapping_sub(1), around.1);
                copies.start(local, &[attribute(name, value)]);
                copies.end();
            }
            copies.end();
        }
        copies.end();
        copies.drawn()
    }

    #[test]
    fn each_reference_draws_again() {
        assert_eq!(Copies::default().drawn(), 0);
        let two = 1 + 11 + (11 + 10 * 11);
        assert_eq!(levels(2, "use", "href", ("", "")), two);
        assert_eq!(levels(2, "use", "xlink:href", (" ", "")), two);
        assert_eq!(levels(2, "rect", "fill", ("URL( '", "') red")), two);
        assert_eq!(levels(2, "rect", "style", ("stroke:red;fill:url(", ")")), two);
        assert_eq!(levels(2, "a", "href", ("", "")), 1 + 11 + 11, "a link draws nothing");
        assert!(levels(9, "use", "href", ("", "")) > 1_000_000_000);
        assert_eq!(levels(60, "use", "href", ("", "")), u64::MAX);
    }

    #[test]
    fn what_contains_itself_is_endless() {
        let mut copies = Copies::default();
        copies.start("svg", &[("id".into(), "all".into())]);
        copies.start("use", &[("href".into(), "#all".into())]);
        assert_eq!(copies.drawn(), u64::MAX);
    }
}
