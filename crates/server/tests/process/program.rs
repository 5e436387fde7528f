//! Starts the built program.

use bailiwick_store::{Db, Options, sql::Q};
use bailiwick_testkit::parts::ports;
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program with nothing of the environment: the one just built, or another build that `BAILIWICK_PROGRAM` names.
pub fn command(directory: &Path) -> Command {
    let built = env!("CARGO_BIN_EXE_bailiwick");
    let mut command = Command::new(std::env::var_os("BAILIWICK_PROGRAM").unwrap_or_else(|| built.into()));
    command.current_dir(directory).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(directory: &Path, arguments: &[&str]) -> Output {
    command(directory).args(arguments).output().expect("the program runs")
}

/// Standard output as text.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How long a start may take that goes well, however busy the machine is. One that goes wrong ends by itself.
const START: Duration = Duration::from_secs(180);

/// Not a variable of the program: the limit of open files that its shell sets.
const OPEN_FILES: &str = "TEST_OPEN_FILES";

/// `bailiwick serve`, with the limit of open files that the settings name.
fn serve_command(directory: &Path, settings: &[(String, String)]) -> Command {
    let mut program = command(directory);
    program.arg("serve");
    let Some((_, files)) = settings.iter().find(|(name, _)| name == OPEN_FILES) else { return program };
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(directory).env_clear().stdin(Stdio::null());
    shell.args(["-c", &format!("ulimit -n {files} && exec \"$0\" serve")]).arg(program.get_program());
    shell
}

/// Returns the standard output and the standard error of a command that fails. A command that goes on is ended after a
/// minute.
pub fn refused(command: &mut Command) -> (String, String) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program starts");
    let limit = Instant::now() + Duration::from_secs(60);
    while child.try_wait().expect("a state").is_none() {
        if Instant::now() > limit {
            child.kill().expect("a kill");
            let output = child.wait_with_output().expect("its end");
            panic!("it was not refused: {output:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("its end");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 78)), "{stderr}");
    (text(&output), stderr)
}

/// Runs SQL on the database of a program that has stopped, or of one on PostgreSQL; the number of rows.
pub async fn execute(url: &str, sql: &str) -> u64 {
    let db = Db::open(&Options { connections: 1, ..Options::new(url) }).await.expect("a database");
    let mut tx = db.begin().await.expect("a transaction");
    let rows = Q::new(sql).run(&mut tx).await.expect("a statement");
    tx.commit().await.expect("a commit");
    db.close().await;
    rows
}

/// A serving process; killed when dropped.
pub struct Serving {
    child: Child,
    /// `http://127.0.0.1:port`.
    pub url: String,
    listen: String,
    directory: PathBuf,
    settings: Vec<(String, String)>,
}

impl Serving {
    /// Starts it in a directory with further settings by environment and waits until it answers.
    pub async fn start(directory: &Path, settings: &[(&str, &str)]) -> Serving {
        let listen = format!("127.0.0.1:{}", ports::spare().expect("a port"));
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Serving::at(directory.to_owned(), listen, settings).await
    }

    /// Starts it under a limit of open files (`ulimit -n`).
    pub async fn start_with_open_files(directory: &Path, settings: &[(&str, &str)], files: u32) -> Serving {
        let files = files.to_string();
        let with_limit = [settings, &[(OPEN_FILES, files.as_str())]].concat();
        Serving::start(directory, &with_limit).await
    }

    async fn at(directory: PathBuf, listen: String, settings: Vec<(String, String)>) -> Serving {
        let log =
            std::fs::File::options().create(true).append(true).open(directory.join("log")).expect("a log");
        let mut serve = serve_command(&directory, &settings);
        let child = serve
            .env("BAILIWICK_HTTP__LISTEN", &listen)
            .env("BAILIWICK_OWNER_PASSWORD", "Correct-Horse-7-Battery")
            .envs(settings.iter().map(|(k, v)| (k, v)))
            .stdout(log.try_clone().expect("a handle"))
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let mut serving = Serving { child, url: format!("http://{listen}"), listen, directory, settings };
        serving.wait_until_it_answers().await;
        serving
    }

    async fn wait_until_it_answers(&mut self) {
        let limit = Instant::now() + START;
        let health = format!("{}/health", self.url);
        while !reqwest::get(&health).await.is_ok_and(|r| r.status() == 200) {
            let ended = self.child.try_wait().expect("a state");
            assert!(ended.is_none() && Instant::now() < limit, "{ended:?}: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The log that the program has written so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// The owner's access token, made by the command line beside the running service.
    pub fn owner_token(&self) -> String {
        let output = command(&self.directory)
            .env("BAILIWICK_HTTP__LISTEN", &self.listen)
            .envs(self.settings.iter().map(|(k, v)| (k, v)))
            .args(["token", "owner@bailiwick.example"])
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{output:?}");
        text(&output).trim().to_owned()
    }

    /// The status with which the service answers a person with this token.
    pub async fn status_of(&self, token: &str) -> u16 {
        let me = reqwest::Client::new().get(format!("{}/api/me", self.url)).bearer_auth(token);
        me.send().await.expect("an answer").status().as_u16()
    }

    /// Kills it with no chance to say goodbye and starts it again at the same address.
    pub async fn kill_and_start_again(mut self) -> Serving {
        self.kill();
        self.start_again().await
    }

    /// Kills it with no chance to say goodbye.
    pub fn kill(&mut self) {
        self.child.kill().expect("a kill");
        self.child.wait().expect("its end");
    }

    /// Starts it again at the same address, after its end.
    pub async fn start_again(mut self) -> Serving {
        let (directory, listen) = (self.directory.clone(), self.listen.clone());
        let settings = std::mem::take(&mut self.settings);
        Serving::at(directory, listen, settings).await
    }

    /// Has it read its files again.
    pub fn hang_up(&self) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-HUP", &id]).status().expect("kill");
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        Command::new("kill").arg(self.child.id().to_string()).status().expect("kill");
    }

    /// Asks it to stop and returns whether it ended well within the time.
    pub fn stop(&mut self) -> bool {
        self.terminate();
        let limit = Instant::now() + bailiwick_testkit::PATIENCE;
        while Instant::now() < limit {
            if let Some(status) = self.child.try_wait().expect("a state") {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

/// Rust's own way of showing values, in a line of ours.
fn shows_values(line: &str) -> bool {
    let names = |before: &str| before.ends_with(|c: char| c.is_ascii_alphanumeric());
    let is_named = |sign: &str| line.match_indices(sign).any(|(at, _)| names(&line[..at]));
    line.contains(" bailiwick_") && (is_named(" { ") || line.contains("Some(") || line.contains("Err("))
}

impl Drop for Serving {
    fn drop(&mut self) {
        let log = self.log();
        let strange = log.lines().find(|line| shows_values(line));
        assert!(strange.is_none() || std::thread::panicking(), "not for people: {strange:?}");
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until this is true, however busy the machine is.
pub async fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let limit = Instant::now() + bailiwick_testkit::PATIENCE;
    while !is_true() {
        assert!(Instant::now() < limit, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
