//! Determines the commit and time of the build: from the packager (`BAILIWICK_COMMIT`, `BAILIWICK_BUILD_TIME`,
//! `SOURCE_DATE_EPOCH`), else from the repository, else `unknown`. Runs again only when one of these has changed.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "this is how cargo is spoken to")]

use std::{env, fs, path::Path, process::Command};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
    for line in directives(&root, given) {
        println!("{line}");
    }
}

/// Instructions for cargo. The names for the compiler must not have the prefix of settings: `cargo run` passes them to
/// the program too.
pub(crate) fn directives(root: &Path, given: impl Fn(&str) -> Option<String>) -> Vec<String> {
    const VARIABLES: [&str; 3] = ["BAILIWICK_COMMIT", "BAILIWICK_BUILD_TIME", "SOURCE_DATE_EPOCH"];
    let mut lines: Vec<String> =
        VARIABLES.iter().map(|name| format!("cargo::rerun-if-env-changed={name}")).collect();
    lines.push("cargo::rerun-if-changed=build.rs".to_owned());
    let [commit, time, epoch] = VARIABLES.map(given);
    let repository = Repository::of(root);
    let is_unknown = commit.is_none() || time.is_none() && epoch.is_none();
    if let (Some(repository), true) = (&repository, is_unknown) {
        lines.extend(repository.moved_with().map(|path| format!("cargo::rerun-if-changed={path}")));
    }
    let git = |what: &[&str]| repository.as_ref().and_then(|repository| repository.output_of(what));
    let unknown = || "unknown".to_owned();
    let commit = commit.or_else(|| git(&["rev-parse", "HEAD"])).unwrap_or_else(unknown);
    // Seconds since 1970; the program formats them.
    let seconds = || epoch.or_else(|| git(&["log", "-1", "--format=%ct"])).map(|n| format!("@{n}"));
    let time = time.or_else(seconds).unwrap_or_else(unknown);
    lines.push(format!("cargo::rustc-env=BUILT_FROM_COMMIT={commit}"));
    lines.push(format!("cargo::rustc-env=BUILT_AT={time}"));
    lines
}

/// The repository with the sources in its work tree. A repository around unpacked sources belongs to another project.
struct Repository<'r>(&'r Path);

impl<'r> Repository<'r> {
    fn of(root: &'r Path) -> Option<Repository<'r>> {
        let repository = Repository(root);
        let top = repository.output_of(&["rev-parse", "--show-toplevel"])?;
        let is_own = fs::canonicalize(top).ok()? == fs::canonicalize(root).ok()?;
        is_own.then_some(repository)
    }

    fn output_of(&self, arguments: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        // Git sets these when it runs a build itself, for its own repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        let output = git.arg("-C").arg(self.0).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Files that change whenever the commit does: every command that moves it appends a line to the first.
    fn moved_with(&self) -> impl Iterator<Item = String> {
        let path = |name: &str| {
            let path = self.output_of(&["rev-parse", "--git-path", name])?;
            let path = self.0.join(path);
            path.exists().then(|| path.display().to_string())
        };
        let branch = self.output_of(&["symbolic-ref", "--quiet", "HEAD"]);
        let log = path("logs/HEAD");
        let without_log = [path("HEAD"), branch.as_deref().and_then(path), path("packed-refs")];
        let without_log = if log.is_some() { [None, None, None] } else { without_log };
        log.into_iter().chain(without_log.into_iter().flatten())
    }
}
