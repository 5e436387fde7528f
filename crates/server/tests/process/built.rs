//! The program's statements about how it was built.

use crate::program::{Serving, repository, wait_until};
use serde_json::Value;
use std::{path::Path, process::Command};

#[allow(dead_code, reason = "cargo calls main")]
#[path = "../../build.rs"]
mod script;

fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.arg("-C").arg(repository()).args(arguments).env("TZ", "UTC").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn health_names_the_commit_and_its_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(dir.path(), &[]).await;
    let health = reqwest::get(format!("{}/health", serving.url)).await.expect("an answer");
    let health: Value = serde_json::from_str(&health.text().await.expect("a body")).expect("JSON");
    let (commit, time) =
        (health["data"]["commit"].as_str().unwrap(), health["data"]["build_time"].as_str().unwrap());
    // The packagers' values come first. Without them and without a repository nothing is known.
    let expected = std::env::var("BAILIWICK_COMMIT").ok().filter(|commit| !commit.is_empty());
    let expected = expected.or_else(|| git(&["rev-parse", "HEAD"]));
    assert_eq!(commit, expected.as_deref().unwrap_or("unknown"));
    if expected.is_some() {
        assert!(time.ends_with('Z') && time.parse::<bailiwick_domain::Ts>().is_ok(), "{time}");
    }
    // The first answers may come before this line.
    wait_until("it listens", || serving.log().contains("listening")).await;
    let log = serving.log();
    assert!(log.contains(commit), "the log names it as well: {log}");
}

/// Commit and time that the build script gives sources in a directory.
fn given(root: &Path, variables: &[(&str, &str)]) -> (String, String) {
    let variable =
        |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, text)| (*text).to_owned());
    let lines = script::directives(root, variable);
    let value = |name: &str| {
        let line = lines.iter().find_map(|line| line.strip_prefix("cargo::rustc-env=")?.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix('=')).unwrap_or_else(|| panic!("{lines:?}")).to_owned()
    };
    for line in &lines {
        // Of a file that is not there cargo would run the script with every build.
        let path = line.strip_prefix("cargo::rerun-if-changed=").filter(|path| *path != "build.rs");
        assert!(path.is_none_or(|path| Path::new(path).exists()), "{line}");
    }
    (value("BUILT_FROM_COMMIT"), value("BUILT_AT"))
}

#[test]
fn sources_without_a_repository_of_their_own_say_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let inner = dir.path().join("vendor/bailiwick");
    std::fs::create_dir_all(&inner).unwrap();
    let unknown = ("unknown".to_owned(), "unknown".to_owned());
    assert_eq!(given(&inner, &[]), unknown);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(dir.path()).args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        git.args(arguments).env("GIT_COMMITTER_DATE", "@1700000000 +0200").env_remove("GIT_DIR");
        let output = git.output().expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet"]);
    assert_eq!(given(dir.path(), &[]), unknown, "there is no commit yet");
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let commit = git(&["rev-parse", "HEAD"]);
    assert_eq!(given(dir.path(), &[]), (commit.clone(), "@1700000000".to_owned()));
    // A repository around unpacked sources does not belong to them.
    assert_eq!(given(&inner, &[]), unknown);
    // Each value of the packagers wins by itself.
    let epoch = [("SOURCE_DATE_EPOCH", "1767225600")];
    assert_eq!(given(dir.path(), &epoch), (commit.clone(), "@1767225600".to_owned()));
    assert_eq!(given(&inner, &epoch), ("unknown".to_owned(), "@1767225600".to_owned()));
    let both = [("BAILIWICK_COMMIT", "abc"), ("BAILIWICK_BUILD_TIME", "2026-01-01T00:00:00Z"), epoch[0]];
    assert_eq!(given(&inner, &both), ("abc".to_owned(), "2026-01-01T00:00:00Z".to_owned()));
    assert_eq!(given(dir.path(), &both[..1]), ("abc".to_owned(), "@1700000000".to_owned()));
}
