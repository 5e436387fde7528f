//! A source that no `mod` names is neither compiled nor run, and nothing else reports it: its tests pass for ever.

use super::sources;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The file of each `mod name;` of a source; `is_root`: its modules stand beside it. With `#[path]` in the line before,
/// if that names one.
fn modules(file: &Path, text: &str, is_root: bool) -> Vec<PathBuf> {
    let beside = file.parent().unwrap();
    let below = if is_root || file.ends_with("mod.rs") { beside.to_owned() } else { file.with_extension("") };
    let mut found = Vec::new();
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            path = rest.strip_suffix("\"]").map(|rest| beside.join(rest));
            continue;
        }
        let named = line.strip_prefix("pub").map_or(line, |rest| {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
        });
        let name = named.trim_start().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        if let Some(name) = name {
            let file = below.join(format!("{name}.rs"));
            let inside = below.join(name).join("mod.rs");
            found.push(path.take().unwrap_or_else(|| if inside.exists() { inside } else { file }));
        }
        if !line.starts_with("#[") {
            path = None;
        }
    }
    found
}

/// The files of a folder of tests that cargo compiles by itself: its files and the `main.rs` of its folders.
fn roots(dir: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let root = |path: PathBuf| match path.is_dir() {
        true => Some(path.join("main.rs")).filter(|main| main.exists()),
        false => path.extension().is_some_and(|end| end == "rs").then_some(path),
    };
    all.filter_map(root).collect()
}

/// Sources below the folder that nothing reaches.
fn unreached(dir: &Path, roots: Vec<PathBuf>) -> Vec<String> {
    let mut reached: BTreeSet<PathBuf> = roots.iter().cloned().collect();
    let mut next: Vec<(PathBuf, bool)> = roots.into_iter().map(|root| (root, true)).collect();
    while let Some((file, is_root)) = next.pop() {
        let text = std::fs::read_to_string(&file).unwrap();
        let found = modules(&file, &text, is_root);
        next.extend(found.into_iter().filter(|path| reached.insert(path.clone())).map(|path| (path, false)));
    }
    let mut all = Vec::new();
    sources(dir, &mut all);
    all.iter().filter(|path| !reached.contains(*path)).map(|path| path.display().to_string()).collect()
}

#[test]
fn every_source_of_the_tests_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let api = root.join("tests/api");
    let own = ["main.rs", "console.rs", "browser.rs", "src/lib.rs"].map(|name| api.join(name)).to_vec();
    let mut lost = unreached(&api, own);
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for package in crates {
        let (src, tests) = (package.join("src"), package.join("tests"));
        let own = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().filter(|path| path.exists());
        lost.extend(unreached(&src, own.collect()));
        if tests.exists() {
            lost.extend(unreached(&tests, roots(&tests)));
        }
    }
    assert_eq!(lost, [""; 0], "no `mod` names them");
}

#[test]
fn modules_are_found_where_the_compiler_finds_them() {
    let found = |text| modules(Path::new("tests/a.rs"), text, false);
    let text = "mod b;\n    pub(crate) mod c;\nmod inline {\n}\n// mod d;\n#[cfg(test)]\n#[path = \"x/e.rs\"]\nmod e;\n";
    assert_eq!(found(text), ["tests/a/b.rs", "tests/a/c.rs", "tests/x/e.rs"].map(PathBuf::from));
    assert_eq!(modules(Path::new("tests/a.rs"), "mod b;", true), [PathBuf::from("tests/b.rs")]);
    assert_eq!(modules(Path::new("tests/a/mod.rs"), "mod b;", false), [PathBuf::from("tests/a/b.rs")]);
}
