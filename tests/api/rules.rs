//! The rules that must hold, by the numbers of the specification's areas: 01 (spec: guarantees#identity), 02
//! (spec: guarantees#organizations), 03 (spec: guarantees#systems), 04 (spec: alert-guarantees), 05
//! (spec: authorization#guarantees) and 06 (spec: clients). The test of rule NN of area D carries `rule_0D_NN` in its
//! name, wherever it stands; likewise `clients_NN` for a row of the checklist (spec: clients#checklist) and
//! `scenario_NN` for an acceptance scenario (spec: acceptance#scenarios). Those that belong to no single area stand
//! here.

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

/// A list by its word, and a number in it: `("rule_01", 17)`, `("scenario", 4)`.
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

/// Names of tests in a source: `fn name`, `api_test!(name`, whatever the macro is called, and `mod name` of both
/// engines.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["fn ", "mod ", "!("].into_iter().flat_map(|start| text.match_indices(start));
    starts.map(|(at, start)| {
        let rest = text[at + start.len()..].trim_start();
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

/// Keywords before a number.
const WORDS: [&str; 3] = ["rule_", "clients_", "scenario_"];

/// `NN_` at the beginning.
fn number(text: &str) -> Option<u8> {
    let digits = text.get(..3)?.strip_suffix('_')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// `rule_01_17_scenario_18_…` proves two; none when a part has another form.
fn proven(name: &str) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for (at, word) in WORDS.iter().flat_map(|word| name.match_indices(word)) {
        let rest = &name[at + word.len()..];
        if word == "rule_" {
            rows.push((format!("rule_{:02}", number(rest)?), number(&rest[3..])?));
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            rows.push((word.trim_end_matches('_').to_owned(), number(rest)?));
        }
    }
    Some(rows)
}

/// The tests of each row.
fn tests() -> BTreeMap<Row, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["crates", "tests"] {
        sources(&root.join(dir), &mut files);
    }
    let mut tests: BTreeMap<Row, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in names(&text).filter(|name| WORDS.iter().any(|word| name.starts_with(word))) {
            let rows = proven(name).unwrap_or_else(|| panic!("{}: {name}", file.display()));
            for row in rows {
                tests.entry(row).or_default().push(name.to_owned());
            }
        }
    }
    tests
}

#[test]
fn each_rule_has_a_test_named_after_its_number() {
    let tests = tests();
    let rows = |list: &str, numbers: &mut dyn Iterator<Item = u8>| -> Vec<Row> {
        numbers.map(|n| (list.to_owned(), n)).collect()
    };
    let known: BTreeSet<Row> = LISTS
        .iter()
        .flat_map(|(list, words)| rows(list, &mut (1..=words.len()).map(|n| u8::try_from(n).unwrap())))
        .collect();
    let not_yet: BTreeSet<Row> =
        NOT_YET.iter().flat_map(|(list, numbers, _)| rows(list, &mut numbers.iter().copied())).collect();
    let word = |(name, number): &Row| {
        let list = LISTS.iter().find(|(list, _)| list == name).map_or(&[][..], |(_, list)| list);
        let words = usize::from(*number).checked_sub(1).and_then(|at| list.get(at));
        format!("{name}_{number:02} ({})", words.unwrap_or(&"no such row"))
    };
    let told = |rows: Vec<&Row>| rows.into_iter().map(word).collect::<Vec<_>>();
    let unproven = known.iter().filter(|r| !tests.contains_key(r) && !not_yet.contains(r)).collect();
    assert_eq!(told(unproven), [""; 0], "rows without a test");
    let proven = not_yet.iter().filter(|r| tests.contains_key(r)).collect();
    assert_eq!(told(proven), [""; 0], "have a test by now: take them out of NOT_YET");
    let unknown = tests.keys().chain(&not_yet).filter(|r| !known.contains(r)).collect();
    assert_eq!(told(unknown), [""; 0], "are no rows of any list");
}

#[test]
fn names_are_read_as_they_are_meant() {
    let text = "api_test!(\n    rule_01_17_a_rule_05_18_b,\n fn rule_02_03() { // rule_01_01_nothing\n";
    assert_eq!(names(text).collect::<Vec<_>>(), ["rule_02_03", "rule_01_17_a_rule_05_18_b"]);
    let row = |list: &str, n: u8| (list.to_owned(), n);
    assert_eq!(proven("rule_01_17_a_rule_05_18_b"), Some(vec![row("rule_01", 17), row("rule_05", 18)]));
    let mixed = "clients_04_rule_06_12_scenario_31_what_clients_call_a_scenario";
    assert_eq!(proven(mixed), Some(vec![row("rule_06", 12), row("clients", 4), row("scenario", 31)]));
    assert_eq!(proven("clients_are_not_numbered"), Some(vec![]));
    for wrong in ["rule_9_is_no_number", "rule_1_17_is_short", "scenario_1_is_short", "clients_+1_is_a_sign"]
    {
        assert_eq!(proven(wrong), if wrong.contains('+') { Some(vec![]) } else { None }, "{wrong}");
    }
}
