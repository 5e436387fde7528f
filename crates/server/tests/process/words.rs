//! People read words: there is no Rust in the log nor in the text of an error.

use crate::program::repository;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The source without its tests and comments.
fn product(text: &str) -> String {
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Places with `{:?}` in any text, and with `?field` in a line of the log.
fn debug_output(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("?}") {
        let inside = code[..at].rfind('{').map(|from| &code[from..at]).unwrap_or_default();
        if inside.contains(':') && !inside.contains([' ', '\n', '"']) {
            found.push(line_at(code, at));
        }
    }
    for level in ["trace!(", "debug!(", "info!(", "warn!(", "error!(", "event!(", "span!("] {
        for (at, _) in code.match_indices(level) {
            let arguments = until_closed(&code[at + level.len()..]);
            let named = |(at, _): &(usize, &str)| {
                let before = arguments[..*at].trim_end();
                before.is_empty() || before.ends_with([',', '='])
            };
            if arguments.match_indices('?').any(|m| named(&m)) {
                found.push(line_at(code, at));
            }
        }
    }
    found
}

fn line_at(code: &str, at: usize) -> String {
    let number = code[..at].matches('\n').count();
    format!("{}: {}", number + 1, code.lines().nth(number).unwrap_or_default().trim())
}

/// As far as the bracket that was opened before.
fn until_closed(text: &str) -> &str {
    let mut open = 1;
    for (at, c) in text.char_indices() {
        open += i32::from(c == '(') - i32::from(c == ')');
        if open == 0 {
            return &text[..at];
        }
    }
    text
}

#[test]
fn the_search_finds_what_it_is_for() {
    for (code, is_found) in [
        ("tracing::warn!(outage = ?new, \"x\");", true),
        ("tracing::warn!(?fault, \"x\");", true),
        ("tracing::warn!(%tenant, ?fault, \"x\");", true),
        ("tracing::warn!(error = %e, \"is it? no\");", false),
        ("tracing::warn!(error = %read()?, \"x\");", false),
        ("format!(\"no {text:?}\")", true),
        ("format!(\"no {:?}\", x)", true),
        ("format!(\"no {:#?}\", x)", true),
        ("let x = Some(read()?);", false),
        ("Thing { field: read()?}", false),
    ] {
        assert_eq!(!debug_output(code).is_empty(), is_found, "{code}");
    }
}

#[test]
fn no_text_is_made_of_rust_s_debug_output() {
    let mut files = Vec::new();
    for entry in fs::read_dir(repository().join("crates")).expect("crates") {
        let root = entry.expect("a crate").path();
        if !root.ends_with("testkit") {
            sources(&root.join("src"), &mut files);
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    let mut found = Vec::new();
    for file in files {
        let code = product(&fs::read_to_string(&file).expect("a source"));
        found.extend(debug_output(&code).into_iter().map(|line| format!("{}:{line}", file.display())));
    }
    assert!(found.is_empty(), "write words:\n{}", found.join("\n"));
}
