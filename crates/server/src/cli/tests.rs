//! Tests of the command line as an operator types it.

use super::*;
use crate::config as settings;
use clap::{CommandFactory, error::ErrorKind};
use std::fs;

fn parsed(line: &str) -> Cli {
    Cli::try_parse_from(line.split(' ')).unwrap()
}

#[test]
fn the_commands_are_consistent() {
    Cli::command().debug_assert();
    let version = Cli::try_parse_from(["bailiwick", "--version"]).unwrap_err();
    assert_eq!(version.kind(), ErrorKind::DisplayVersion);
}

#[test]
fn no_command_serves() {
    assert!(parsed("bailiwick").command.is_none());
    assert!(matches!(parsed("bailiwick serve --listen :1").command, Some(Command::Serve)));
}

#[test]
fn flags_are_settings_before_and_after_the_command() {
    let cli =
        parsed("bailiwick --listen :1 migrate --data-dir /d --set http.workers=2 --set log.format=json");
    let flag = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let wanted = [
        flag("http.workers", "2"),
        flag("log.format", "json"),
        flag("http.listen", ":1"),
        flag("data_dir", "/d"),
    ];
    assert_eq!(cli.sources.flags(), wanted);
    assert!(Cli::try_parse_from(["bailiwick", "--set", "nothing"]).is_err());
}

#[test]
fn arguments_reach_their_commands() {
    let Some(Command::Demo(demo)) = parsed("bailiwick demo --organizations 5 --systems 7 --seed 9").command
    else {
        panic!("not demo");
    };
    assert_eq!((demo.organizations, demo.systems, demo.seed, demo.credentials), (5, 7, 9, None));
    let line = "bailiwick user create-owner --email a@b.example --name A";
    let Some(Command::User(UserCommand::CreateOwner(owner))) = parsed(line).command else {
        panic!("not user")
    };
    assert_eq!((owner.email.as_str(), owner.name.as_str(), owner.username), ("a@b.example", "A", None));
    assert!(matches!(parsed("bailiwick token a@b.example").command, Some(Command::Token(_))));
    assert!(Cli::try_parse_from(["bailiwick", "demo", "--organizations", "0"]).is_err());
    for line in ["bailiwick --data-dir d demo remove --yes", "bailiwick demo remove --yes --data-dir d"] {
        let Some(Command::Demo(demo::DemoArgs { command: Some(demo::DemoCommand::Remove(remove)), .. })) =
            parsed(line).command
        else {
            panic!("not demo remove");
        };
        assert!(remove.yes && !remove.with_added);
    }
    assert!(Cli::try_parse_from(["bailiwick", "demo", "--systems", "5", "remove"]).is_err());
}

#[test]
fn the_file_is_found_by_flag_or_variable_and_problems_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    fs::write(&path, "[http]\nlisten = \"127.0.0.1:7\"\n").unwrap();
    let variable = [(settings::FILE_VARIABLE.to_owned(), path.display().to_string())];
    let by_flag = Sources { config: Some(path.clone()), ..Sources::default() };
    assert_eq!(by_flag.load(&[]).unwrap().http.listen.port(), 7);
    assert_eq!(Sources::default().load(&variable).unwrap().http.listen.port(), 7);
    let missing = Sources { config: Some(dir.path().join("none")), ..Sources::default() };
    assert!(missing.load(&[]).unwrap_err().contains("cannot read"));
    let wrong =
        Sources { set: vec![("a".into(), "b".into()), ("c".into(), "d".into())], ..Sources::default() };
    let message = wrong.load(&[]).unwrap_err();
    assert!(message.contains("2 problem(s)") && message.lines().count() == 3, "{message}");
}
