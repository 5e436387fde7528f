//! The "rules that must hold" of contracts 01 (§8), 02 (§14), 03 (§14), 04 (§8) and 05 (§11): the test of rule NN of document D carries
//! `rule_0D_NN` in its name, wherever it stands. Those that belong to no single area stand here.

mod faults;
mod gates;
mod list;
mod output;
mod owned;
mod queries;
mod races;
mod scope;

use list::{NOT_YET, RULES};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// A document and a number in it.
type Rule = (u8, u8);

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

/// Names of tests in a source: `fn name` and `api_test!(name`, whatever the macro is called.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["fn ", "!("].into_iter().flat_map(|start| text.match_indices(start));
    starts.map(|(at, start)| {
        let rest = text[at + start.len()..].trim_start();
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

/// `rule_01_17_rule_05_18_…` proves two; none when a part has another form.
fn proven(name: &str) -> Option<Vec<Rule>> {
    let number = |text: &str| text.parse().ok();
    name.match_indices("rule_")
        .map(|(at, _)| {
            let digits = name.get(at + 5..at + 11)?;
            let (document, rule) = digits.strip_suffix('_')?.split_once('_')?;
            (document.len() == 2 && rule.len() == 2).then(|| Some((number(document)?, number(rule)?)))?
        })
        .collect()
}

/// The tests of each rule.
fn tests() -> BTreeMap<Rule, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["crates", "tests"] {
        sources(&root.join(dir), &mut files);
    }
    let mut tests: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in names(&text).filter(|name| name.starts_with("rule_")) {
            let rules = proven(name).unwrap_or_else(|| panic!("{}: {name}", file.display()));
            for rule in rules {
                tests.entry(rule).or_default().push(name.to_owned());
            }
        }
    }
    tests
}

#[test]
fn each_rule_has_a_test_named_after_its_number() {
    let tests = tests();
    let known: BTreeSet<Rule> = RULES
        .iter()
        .flat_map(|(document, rules)| (1..=rules.len()).map(|n| (*document, u8::try_from(n).unwrap())))
        .collect();
    let not_yet: BTreeSet<Rule> =
        NOT_YET.iter().flat_map(|(document, rules, _)| rules.iter().map(|n| (*document, *n))).collect();
    let word = |rule: &Rule| {
        let list = RULES.iter().find(|(document, _)| *document == rule.0).map_or(&[][..], |(_, list)| list);
        format!(
            "{:02}-{:02} ({})",
            rule.0,
            rule.1,
            list.get(usize::from(rule.1) - 1).unwrap_or(&"no such rule")
        )
    };
    let told = |rules: Vec<&Rule>| rules.into_iter().map(word).collect::<Vec<_>>();
    let unproven = known.iter().filter(|r| !tests.contains_key(r) && !not_yet.contains(r)).collect();
    assert_eq!(told(unproven), [""; 0], "rules without a test");
    let proven = not_yet.iter().filter(|r| tests.contains_key(r)).collect();
    assert_eq!(told(proven), [""; 0], "have a test by now: take them out of NOT_YET");
    // The other documents have lists of their own.
    let is_listed = |rule: &&Rule| RULES.iter().any(|(document, _)| *document == rule.0);
    let unknown = tests.keys().chain(&not_yet).filter(is_listed).filter(|r| !known.contains(r)).collect();
    assert_eq!(told(unknown), [""; 0], "are no rules");
}

#[test]
fn names_are_read_as_they_are_meant() {
    let text = "api_test!(\n    rule_01_17_a_rule_05_18_b,\n fn rule_02_03() { // rule_01_01_nothing\n";
    assert_eq!(names(text).collect::<Vec<_>>(), ["rule_02_03", "rule_01_17_a_rule_05_18_b"]);
    assert_eq!(proven("rule_01_17_a_rule_05_18_b"), Some(vec![(1, 17), (5, 18)]));
    assert_eq!(proven("rule_9_is_no_number"), None);
    assert_eq!(proven("rule_1_17_is_short"), None);
}
