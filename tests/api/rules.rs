//! The rules that must hold: every row of the numbered lists of the specification has a test.
//!
//! A comment above a test names the rows that the test proves, wherever the test stands: `Proves`, then a citation of
//! the section with the row's number (`spec: guarantees#identity 9 17`). [`list`] names all rows. Tests of rules that
//! belong to no single area stand here.

pub(crate) mod faults;
mod gates;
mod list;
mod output;
mod owned;
mod queries;
mod races;
mod reached;
mod scope;

use list::{LISTS, NOT_YET};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// A section of the specification with a list, and a number in it: `("guarantees#identity", 17)`.
type Row = (String, u8);

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with(file!()) {
            // Not this file: what looks like a test here is a sample.
            found.push(path);
        }
    }
}

/// Begins a comment that names the rules that the test below it proves.
const PROVES: &str = "// Proves spec: ";

/// The rows that a line proves, `guarantees#identity 9 17, acceptance#scenarios 31.` behind [`PROVES`]; none when a part
/// has another form.
fn proven(line: &str) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for item in line.strip_suffix('.')?.split(", ") {
        let (section, numbers) = item.split_once(' ')?;
        for number in numbers.split(' ') {
            rows.push((section.to_owned(), number.parse().ok()?));
        }
    }
    Some(rows)
}

/// Whether a line declares a test, or names it in a macro that does: `fn name`, `api_test!(name`, `mod name` of both
/// engines, or the name alone.
fn declares(line: &str) -> bool {
    let line = line.trim();
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let macro_call = line.split_once("!(").is_some_and(|(name, _)| is_name(name));
    macro_call
        || ["fn ", "async fn ", "mod "].iter().any(|start| line.starts_with(start))
        || is_name(line.trim_end_matches(','))
}

/// The places where each row is proven.
fn tests() -> BTreeMap<Row, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["crates", "tests"] {
        sources(&root.join(dir), &mut files);
    }
    let mut tests: BTreeMap<Row, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(list) = line.trim().strip_prefix(PROVES) else { continue };
            let location = format!("{}:{}", file.display(), index + 1);
            let below = lines[index + 1..].iter().find(|line| !line.trim().starts_with(['#', '/']));
            assert!(below.is_some_and(|line| declares(line)), "{location}: no test below");
            for row in proven(list).unwrap_or_else(|| panic!("{location}: {line}")) {
                tests.entry(row).or_default().push(location.clone());
            }
        }
    }
    tests
}

#[test]
fn each_rule_has_a_test() {
    let tests = tests();
    let rows = |list: &str, numbers: &mut dyn Iterator<Item = u8>| -> Vec<Row> {
        numbers.map(|n| (list.to_owned(), n)).collect()
    };
    let rows_of_lists: BTreeSet<Row> = LISTS
        .iter()
        .flat_map(|(list, words)| rows(list, &mut (1..=words.len()).map(|n| u8::try_from(n).unwrap())))
        .collect();
    let not_yet: BTreeSet<Row> =
        NOT_YET.iter().flat_map(|(list, numbers, _)| rows(list, &mut numbers.iter().copied())).collect();
    let word = |(name, number): &Row| {
        let list = LISTS.iter().find(|(list, _)| list == name).map_or(&[][..], |(_, list)| list);
        let words = usize::from(*number).checked_sub(1).and_then(|index| list.get(index));
        format!("{name} {number} ({})", words.unwrap_or(&"no such row"))
    };
    let described = |rows: Vec<&Row>| rows.into_iter().map(word).collect::<Vec<_>>();
    let unproven = rows_of_lists.iter().filter(|r| !tests.contains_key(r) && !not_yet.contains(r)).collect();
    assert_eq!(described(unproven), [""; 0], "rows without a test");
    let proven = not_yet.iter().filter(|r| tests.contains_key(r)).collect();
    assert_eq!(described(proven), [""; 0], "have a test by now: take them out of NOT_YET");
    let unknown = tests.keys().chain(&not_yet).filter(|r| !rows_of_lists.contains(r)).collect();
    assert_eq!(described(unknown), [""; 0], "are no rows of any list");
}

#[test]
fn rules_are_read_from_the_comments_of_tests() {
    let row = |list: &str, n: u8| (list.to_owned(), n);
    assert_eq!(
        proven("guarantees#identity 9 17, acceptance#scenarios 4."),
        Some(vec![
            row("guarantees#identity", 9),
            row("guarantees#identity", 17),
            row("acceptance#scenarios", 4)
        ])
    );
    for wrong in ["guarantees#identity 9", "guarantees#identity.", "guarantees#identity nine.", "a 1,b 2."] {
        assert_eq!(proven(wrong), None, "{wrong}");
    }
    for line in
        ["fn a() {", "    async fn a() {", "api_test!(a, |t| async {", "    a,", "mod a {", "api_test!("]
    {
        assert!(declares(line), "{line}");
    }
    for line in ["let a = 1;", "}", "", "\"text\","] {
        assert!(!declares(line), "{line}");
    }
}
