//! What the documents name is there: the targets of links, the program's commands and settings, targets of `make`,
//! files of the repository. The README and the guides are run as a whole (`tour`, `guides`).

use crate::program::repository;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    process::Command,
};

/// A document: its path in the repository, its lines with the language of the block they are in (none = text).
struct Page {
    path: PathBuf,
    lines: Vec<(Option<String>, String)>,
}

/// Every document of the repository.
fn pages() -> Vec<Page> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"])
        .current_dir(repository())
        .output()
        .expect("git");
    let listed = String::from_utf8(listed.stdout).expect("text");
    let pages: Vec<Page> = listed.lines().map(|path| page(Path::new(path))).collect();
    assert!(pages.len() > 70, "{listed}");
    pages
}

fn page(path: &Path) -> Page {
    let text = std::fs::read_to_string(repository().join(path)).expect("a document");
    let mut block = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block = Some(language.trim().to_owned()),
            (None, _) => lines.push((block.clone(), line.to_owned())),
        }
    }
    Page { path: path.to_owned(), lines }
}

impl Page {
    fn text(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|(block, _)| block.is_none()).map(|(_, line)| line.as_str())
    }

    /// Where links may lead: headings as GitHub names them, and anchors.
    fn anchors(&self) -> BTreeSet<String> {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        let mut anchors = BTreeSet::new();
        for line in self.text() {
            anchors.extend(
                line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned),
            );
            let level = line.chars().take_while(|c| *c == '#').count();
            if !(1..=6).contains(&level) || !line[level..].starts_with(' ') {
                continue;
            }
            let name = slug(&line[level..]);
            let before = times.entry(name.clone()).or_default();
            anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
            *before += 1;
        }
        anchors
    }

    fn links(&self) -> Vec<&str> {
        let targets = |line| str::split(line, "](").skip(1).filter_map(|rest: &str| rest.split(')').next());
        // Code that looks like a link is none.
        let pictures = self
            .text()
            .flat_map(|line| line.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()));
        self.text()
            .filter(|line| !line.contains("`](") || line.contains("`]"))
            .flat_map(targets)
            .chain(pictures)
            .collect()
    }
}

/// A heading's anchor at GitHub: small letters, spaces as hyphens, no marks.
fn slug(heading: &str) -> String {
    // The address of a link in the heading is not shown.
    let mut shown = String::new();
    let mut rest = heading.trim();
    while let Some((before, after)) = rest.split_once("](") {
        shown.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let lower = shown.to_lowercase();
    lower
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&Path, _> =
        pages.iter().map(|page| (page.path.as_path(), page.anchors())).collect();
    let mut dead = Vec::new();
    for page in &pages {
        for link in page.links() {
            if ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.path.clone(),
                file => plain(&page.path.parent().expect("a directory").join(file)),
            };
            let is_there = repository().join(&target).exists();
            let has_anchor = anchors.get(target.as_path()).is_none_or(|anchors| anchors.contains(anchor));
            if !is_there || !(anchor.is_empty() || has_anchor) {
                dead.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert_eq!(dead, [""; 0], "links that lead nowhere");
}

/// The words after `name ` on a line of a shell block, or in code within a text.
fn calls<'p>(page: &'p Page, name: &'p str) -> impl Iterator<Item = Vec<&'p str>> + 'p {
    page.lines.iter().flat_map(move |(block, line)| {
        let code: Vec<&str> = match block.as_deref() {
            Some("sh" | "cron") => vec![line.split(" #").next().unwrap_or_default()],
            Some(_) => Vec::new(),
            None => line.split('`').skip(1).step_by(2).collect(),
        };
        code.into_iter().flat_map(move |code| {
            let words =
                code.split(['|', ';', '&', '(', ')']).map(|part| part.split_whitespace().collect::<Vec<_>>());
            words.filter_map(move |words| {
                let position =
                    words.iter().rposition(|word| *word == name || word.ends_with(&format!("/{name}")))?;
                // What comes before the program are the words that start another one.
                let starts =
                    |word: &&str| ["sudo", "-u", "bailiwick", "exec"].contains(word) || word.contains('=');
                words[..position].iter().all(starts).then(|| words[position + 1..].to_vec())
            })
        })
    })
}

fn help(args: &[&str]) -> Option<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bailiwick")).args(args).arg("--help").output().expect("the program");
    output.status.success().then(|| String::from_utf8(output.stdout).expect("text"))
}

/// What is wrong with a command line of the program: a command or an option that it does not have.
fn fault(words: &[&str], helps: &mut BTreeMap<Vec<String>, Option<String>>) -> Option<String> {
    let mut command: Vec<&str> = Vec::new();
    let mut options = Vec::new();
    let mut words = words.iter().peekable();
    let mut ask = |command: &[&str]| {
        let key: Vec<String> = command.iter().map(ToString::to_string).collect();
        helps.entry(key).or_insert_with(|| help(command)).clone()
    };
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix("--") {
            options.push(option.split('=').next().unwrap_or_default());
            if ["config", "set", "listen", "public-url", "data-dir", "database-url", "log-level"]
                .contains(&option)
            {
                words.next();
            }
            continue;
        }
        let is_name = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        // The first word is a command, the second one where the first has commands of its own.
        let has_commands = command.is_empty() || ask(&command)?.contains("\nCommands:\n");
        if !is_name || !has_commands || command.len() == 2 {
            continue;
        }
        command.push(word);
        if ask(&command).is_none() {
            return Some(format!("no command {}", command.join(" ")));
        }
    }
    let shown = ask(&command).unwrap_or_default();
    let unknown = options.iter().find(|option| !option.is_empty() && !shown.contains(&format!("--{option}")));
    unknown.map(|option| format!("{} has no --{option}", command.join(" ")))
}

#[test]
fn every_command_of_the_program_exists() {
    let (mut wrong, mut count, mut helps) = (Vec::new(), 0, BTreeMap::new());
    for page in pages().iter() {
        for name in ["bailiwick", "bw"] {
            for words in calls(page, name).filter(|words| !words.is_empty()) {
                count += 1;
                let found = fault(&words, &mut helps);
                wrong.extend(
                    found.map(|fault| format!("{}: {fault}: {}", page.path.display(), words.join(" "))),
                );
            }
        }
    }
    assert_eq!(wrong, [""; 0], "commands that the program does not have");
    assert!(count > 60, "only {count} found");
}

#[test]
fn every_target_of_make_and_every_file_that_is_run_exists() {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).expect("the Makefile");
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages().iter() {
        for words in calls(page, "make") {
            let named = words.iter().take_while(|word| !word.starts_with('#')).filter(|word| {
                !word.contains(['=', '\'', '-', '$']) || word.contains("test-") || word.contains("bench-")
            });
            for target in named {
                count += 1;
                if !targets.contains(target) {
                    wrong.push(format!("{}: make {target}", page.path.display()));
                }
            }
        }
        for code in page.text().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let file = code.split([' ', ':']).next().unwrap_or_default();
            let is_ours = ["scripts/", "packaging/", "benches/", "crates/", "tests/"]
                .iter()
                .any(|start| file.starts_with(start));
            if is_ours && !file.contains(['*', '{', '<', '…', '$']) {
                count += 1;
                if !repository().join(file).exists() {
                    wrong.push(format!("{}: {file}", page.path.display()));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0], "targets and files that do not exist");
    assert!(count > 100, "only {count} found");
}

/// The blocks of a language, each as a whole.
fn blocks(page: &Page, language: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_inside = false;
    for (block, line) in &page.lines {
        match block.as_deref() == Some(language) {
            true if is_inside => blocks.last_mut().expect("a block").push_str(&format!("{line}\n")),
            true => blocks.push(format!("{line}\n")),
            false => {}
        }
        is_inside = block.as_deref() == Some(language);
    }
    blocks
}

#[test]
fn every_setting_of_an_example_exists() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        for block in blocks(&page, "toml") {
            count += 1;
            let file = dir.path().join("example.toml");
            std::fs::write(&file, &block).expect("a file");
            let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
                .arg("--config")
                .arg(&file)
                .args(["config", "check"])
                .env_clear()
                .output()
                .expect("the program");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            // What an example leaves out may be missing; what it names must be there.
            if stderr.contains("is not a setting") || stderr.contains("TOML") || stderr.contains("panicked") {
                wrong.push(format!("{}:\n{block}{stderr}", page.path.display()));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "settings that do not exist");
    assert!(count >= 12, "only {count} found");
}

/// What looks like a setting in a text and is none: kinds of events, attributes of spans, fields of inventories, and
/// files.
const NO_SETTINGS: [&str; 10] = [
    "impersonation.",
    "metrics.timestamp",
    "events.gap",
    "events.end",
    "events.test",
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "systems.tsv",
    "assets.rs",
];

#[test]
fn every_setting_that_a_text_names_exists() {
    let table = std::fs::read_to_string(repository().join("docs/configuration.md")).expect("the settings");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut settings: BTreeSet<String> = BTreeSet::new();
    for (name, rest) in rows.filter(|(name, _)| name.contains('.')) {
        settings.extend(name.match_indices('.').map(|(at, _)| name[..at].to_owned()));
        settings.insert(name.to_owned());
        // A secret may be in a file.
        if rest.starts_with("*secret*") {
            settings.insert(format!("{name}_file"));
        }
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages().iter().filter(|page| !page.path.ends_with("configuration.md")) {
        for code in page.text().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let name = code.split([' ', '=']).next().unwrap_or_default();
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.'));
            let section = name.split_once('.').map(|(section, _)| section);
            if !is_name
                || !section.is_some_and(|section| settings.contains(section))
                || NO_SETTINGS.contains(&name)
            {
                continue;
            }
            count += 1;
            if !settings.contains(name) && name != "identity.clients" {
                wrong.push(format!("{}: {name}", page.path.display()));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "settings that do not exist");
    assert!(count > 100, "only {count} found");
}
