//! Comments cite the specification (`spec: users#email-uniqueness`). Every page and section that a comment names is
//! there, and so is every target of the specification's links.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Anchors by page.
type Pages = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text below a directory that people have written.
fn texts(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !["target", "node_modules"].contains(&name.as_str()) {
                texts(&path, found);
            }
        } else if [".rs", ".md", ".sh", ".py", ".sql", ".toml"].iter().any(|end| name.ends_with(end)) {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
}

fn pages() -> Pages {
    let mut pages = Pages::new();
    for entry in fs::read_dir(root().join("docs/specification")).unwrap().map(Result::unwrap) {
        let text = fs::read_to_string(entry.path()).unwrap();
        let anchors: Vec<String> =
            text.split("<a id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
        let count = anchors.len();
        let name = entry.file_name().into_string().unwrap();
        let distinct: BTreeSet<String> = anchors.into_iter().collect();
        assert_eq!(distinct.len(), count, "an anchor is twice in {name}");
        pages.insert(name.trim_end_matches(".md").to_owned(), distinct);
    }
    pages
}

/// The pages that a line cites after `spec: `, up to the first word that is no page.
fn cited<'l>(line: &'l str, pages: &Pages) -> Vec<&'l str> {
    let citation_in = |rest: &'l str| {
        let items = rest.split(", ").map(|item| {
            item.split(|c: char| !(c.is_ascii_alphanumeric() || "-#".contains(c))).next().unwrap_or_default()
        });
        items.take_while(|item| item.contains('#') || pages.contains_key(*item)).collect::<Vec<_>>()
    };
    line.split("spec: ").skip(1).flat_map(citation_in).collect()
}

fn is_there(target: &str, pages: &Pages) -> bool {
    let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
    pages.get(page).is_some_and(|anchors| anchor.is_empty() || anchors.contains(anchor))
}

#[test]
fn every_section_that_is_cited_is_there() {
    let (pages, mut found) = (pages(), Vec::new());
    for directory in ["crates", "tests", "docs", "scripts", "benches", "packaging"] {
        texts(&root().join(directory), &mut found);
    }
    let (mut count, mut missing) = (0, Vec::new());
    for (path, text) in &found {
        // This file names sections that there need not be.
        for line in text.lines().filter(|_| !path.ends_with("specification.rs")) {
            let cited = cited(line, &pages);
            count += cited.len();
            missing.extend(cited.into_iter().filter(|t| !is_there(t, &pages)).map(|t| (path, t)));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 500, "only {count} sections are cited");
}

#[test]
fn every_link_of_the_specification_leads_somewhere() {
    let pages = pages();
    let mut missing = Vec::new();
    for page in pages.keys() {
        let text = fs::read_to_string(root().join(format!("docs/specification/{page}.md"))).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let is_found = if file.is_empty() || (file.ends_with(".md") && !file.contains('/')) {
                let file = if file.is_empty() { page } else { file.trim_end_matches(".md") };
                is_there(&format!("{file}#{anchor}"), &pages)
            } else {
                root().join("docs/specification").join(file).exists()
            };
            if !is_found {
                missing.push((page, link.to_owned()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_missing_section_is_found_out() {
    let pages = Pages::from([("users".to_owned(), BTreeSet::from(["email".to_owned()]))]);
    let line = "/// Unique (spec: users#email, users#phone rule 3), as spec: users says.";
    assert_eq!(cited(line, &pages), ["users#email", "users#phone", "users"]);
    assert!(is_there("users#email", &pages) && is_there("users", &pages));
    assert!(!is_there("users#phone", &pages) && !is_there("systems#email", &pages));
}
