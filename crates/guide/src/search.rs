//! A search in memory: every word of the query must occur in a section, the last one as the beginning of a word.
//! Sections with the words in their titles come first.

use crate::text::{parts, words};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most results of a search.
pub const MOST: usize = 50;
/// Characters of a query that count.
pub const QUERY_CHARS: usize = 200;
/// Words of a query that count.
const QUERY_WORDS: usize = 10;
/// Characters of a text around its first found word.
const AROUND: usize = 110;

/// What can be found.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchEntry {
    /// Where it is.
    pub(crate) href: String,
    /// The page, or the operation.
    pub(crate) title: String,
    /// The heading on the page; empty for the page itself.
    pub(crate) heading: String,
    pub(crate) text: String,
    /// Words that are found but not shown.
    pub(crate) more: String,
}

/// Entries by their words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    entries: Vec<SearchEntry>,
    words: BTreeMap<String, HashMap<usize, u32>>,
}

/// A result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Hit {
    href: String,
    title: String,
    heading: String,
    snippet: Vec<Piece>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Piece {
    text: String,
    is_found: bool,
}

impl Index {
    /// Of these entries; earlier ones come first among equals.
    pub(crate) fn new(entries: Vec<SearchEntry>) -> Index {
        let mut index = Index::default();
        for (number, entry) in entries.iter().enumerate() {
            let heading_weight = if entry.heading.is_empty() { 0 } else { 20 };
            index.add(number, &entry.title, if entry.heading.is_empty() { 25 } else { 8 });
            index.add(number, &entry.heading, heading_weight);
            index.add(number, &entry.text, 1);
            index.add(number, &entry.more, 2);
        }
        index.entries = entries;
        index
    }

    fn add(&mut self, number: usize, text: &str, weight: u32) {
        for (start, end, word) in words(text) {
            for word in parts(text.get(start..end).unwrap_or_default()).chain([word]) {
                let score = self.words.entry(word).or_default().entry(number).or_default();
                // Repetition counts little.
                *score = (*score + weight).min(weight.max(*score) + 4);
            }
        }
    }

    /// Places of the entries that have all words, the best first.
    pub(crate) fn find(&self, query: &Query) -> Vec<usize> {
        let Some((last, whole)) = query.words.split_last() else { return Vec::new() };
        let mut scores: Option<HashMap<usize, u32>> = None;
        let whole = whole.iter().map(|word| self.words.get(word).cloned().unwrap_or_default());
        for found in whole.chain([self.beginning_with(last)]) {
            scores = Some(match scores {
                None => found,
                Some(before) => {
                    let both =
                        before.into_iter().filter_map(|(number, n)| Some((number, n + found.get(&number)?)));
                    both.collect()
                }
            });
        }
        let mut numbers: Vec<(usize, u32)> = scores.unwrap_or_default().into_iter().collect();
        numbers.sort_by_key(|(number, score)| (u32::MAX - score, *number));
        numbers.into_iter().map(|(number, _)| number).collect()
    }

    fn beginning_with(&self, start: &str) -> HashMap<usize, u32> {
        let mut all: HashMap<usize, u32> = HashMap::new();
        for (word, found) in
            self.words.range(start.to_owned()..).take_while(|(word, _)| word.starts_with(start))
        {
            for (number, score) in found {
                let score = if word == start { score * 2 } else { *score };
                let best = all.entry(*number).or_default();
                *best = (*best).max(score);
            }
        }
        all
    }

    /// The entry of a place as a result.
    pub(crate) fn show(&self, number: usize, query: &Query) -> Option<Hit> {
        let entry = self.entries.get(number)?;
        Some(Hit {
            href: entry.href.clone(),
            title: entry.title.clone(),
            heading: entry.heading.clone(),
            snippet: snippet(&entry.text, query),
        })
    }
}

/// A query, as words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    words: Vec<String>,
}

impl Query {
    /// Reads what a person has typed.
    pub(crate) fn read(text: &str) -> Query {
        let text: String = text.chars().take(QUERY_CHARS).collect();
        let mut seen = BTreeSet::new();
        let mut words: Vec<String> = words(&text).map(|(.., word)| word).collect();
        // The last word may still grow, so of two equal ones the last one stays.
        words.reverse();
        words.retain(|word| seen.insert(word.clone()));
        words.reverse();
        words.truncate(QUERY_WORDS);
        Query { words }
    }

    fn marks(&self, word: &str) -> bool {
        let is_last = self.words.last().is_some_and(|last| word.starts_with(last.as_str()));
        is_last || self.words.iter().any(|wanted| wanted == word)
    }
}

/// The text around the first found word, with the found words marked.
fn snippet(text: &str, query: &Query) -> Vec<Piece> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = words(&text).find(|(.., word)| query.marks(word)).map_or(0, |(start, ..)| start);
    let start =
        text.get(..first).and_then(|before| before.char_indices().rev().nth(AROUND)).map_or(0, |(at, _)| at);
    let start = if start == 0 { 0 } else { text[start..].find(' ').map_or(start, |at| start + at + 1) };
    let shown: String = text.get(start..).unwrap_or_default().chars().take(2 * AROUND).collect();
    let is_cut = start + shown.len() < text.len();
    let shown = if is_cut { shown.rsplit_once(' ').map_or(shown.as_str(), |(kept, _)| kept) } else { &shown };
    let mut pieces = Vec::new();
    let mut push = |text: &str, is_found| {
        if !text.is_empty() {
            pieces.push(Piece { text: text.to_owned(), is_found });
        }
    };
    push(if start > 0 { "… " } else { "" }, false);
    let mut done = 0;
    for (start, end, word) in words(shown) {
        if query.marks(&word) {
            push(&shown[done..start], false);
            push(&shown[start..end], true);
            done = end;
        }
    }
    push(&shown[done..], false);
    push(if is_cut { " …" } else { "" }, false);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(title: &str, heading: &str, text: &str) -> SearchEntry {
        SearchEntry {
            title: title.into(),
            heading: heading.into(),
            text: text.into(),
            ..SearchEntry::default()
        }
    }

    fn found(query: &str) -> Vec<usize> {
        let index = Index::new(vec![
            entry("Backup", "", "Copies of the database"),
            entry("Backup", "Restore", "The database comes back"),
            entry("Events", "", "A backup of getSystemEvents, a backup, backup, backup"),
        ]);
        index.find(&Query::read(query))
    }

    #[test]
    fn all_words_must_occur_and_titles_come_first() {
        assert_eq!(found("backup"), [0, 1, 2]);
        assert_eq!(found("database BACK"), [0, 1]);
        assert_eq!(found("data backup"), [0usize; 0]);
        assert_eq!(found("rest"), [1]);
        assert_eq!(found("events system"), [2]);
        assert_eq!(found("getsys"), [2]);
        for nothing in ["", "  ", "…", "\u{0}", "' OR 1=1 --", "<script>"] {
            assert!(found(nothing).is_empty(), "{nothing}");
        }
        assert!(found(&"backup ".repeat(10_000)).len() == 3);
    }

    #[test]
    fn snippets_show_the_words() {
        let text = format!("{} the Wörd’s end {}", "before ".repeat(60), "after ".repeat(60));
        let pieces = snippet(&text, &Query::read("wör"));
        assert!(pieces.iter().any(|piece| piece.is_found && piece.text == "Wörd"), "{pieces:?}");
        let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert!(
            all.starts_with("… before") && all.ends_with("after …") && all.chars().count() < 240,
            "{all}"
        );
        assert_eq!(snippet("", &Query::read("a")), []);
    }
}
