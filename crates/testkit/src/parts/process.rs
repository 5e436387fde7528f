//! A program that cannot outlive the test process.
//!
//! The program is started by a small shell script, its watchdog, whose standard input is a pipe that this process
//! holds open. When the pipe closes, because the value was dropped or because this process ended in any way
//! (a killed process closes its pipes too), the watchdog stops the program and removes its directory.
//! The parent-death signal of Linux would not do: it follows the thread that started the program, and test threads
//! end before the test process does.

use super::{PartError, Result, scratch::Scratch};
use crate::cores;
use std::{
    ffi::OsStr,
    fs::File,
    future::Future,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

/// Arguments: the stop signal, the directory to remove, the program and its arguments.
///
/// The program leads a session of its own: an interrupt typed at the terminal reaches it only through the pipe, and
/// what it has started itself and left behind can be ended as a group. The directory stays until the pipe closes: a
/// program that ended early has left its reasons there. The short pause is for processes that are being killed and
/// may still write a file.
const WATCHDOG: &str = r#"
exec 3<&0 </dev/null
signal=$1 directory=$2
shift 2
setsid "$@" 3<&- &
program=$!
(
    while read -r _; do :; done <&3
    kill -s "$signal" "$program" 2>/dev/null
    sleep 10
    kill -s KILL "$program" 2>/dev/null
) &
wait "$program"
: >"$directory/ended"
kill -s KILL -- "-$program" 2>/dev/null && sleep 0.2
while read -r _; do :; done <&3
rm -rf -- "$directory" || { sleep 1; rm -rf -- "$directory"; }
trap '' TERM
kill -s TERM 0
"#;

/// How long a part may take to come up. One that cannot come up ends by itself.
const START_LIMIT: Duration = Duration::from_secs(180);

/// A running program and its directory; both are removed on drop.
#[derive(Debug)]
pub struct Process {
    lifeline: Option<ChildStdin>,
    watchdog: Child,
    log: PathBuf,
    program: String,
    scratch: Scratch,
}

/// The signal that makes a program end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// `TERM`: for programs that have child processes to end.
    Terminate,
    /// `QUIT`: PostgreSQL's immediate shutdown, which still frees its shared memory.
    Quit,
    /// `KILL`: for programs whose state is discarded anyway.
    Kill,
}

impl Process {
    /// Starts a program. Its output goes to the file `log` in the directory.
    ///
    /// # Errors
    /// When no shell can be started.
    pub fn start<A: AsRef<OsStr>>(
        scratch: Scratch,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        stop: Stop,
    ) -> Result<Self> {
        let log = scratch.path().join("log");
        let failed =
            |error: std::io::Error| PartError::io(&format!("cannot start {}", program.display()), &error);
        let output = File::create(&log).map_err(failed)?;
        let mut watchdog = Command::new("/bin/sh");
        watchdog
            .args(["-c", WATCHDOG, "watchdog", stop.name()])
            .arg(scratch.path())
            .arg(program)
            .args(arguments)
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            .process_group(0);
        let mut watchdog = cores::unpinned(|| watchdog.spawn()).map_err(failed)?;
        let lifeline = watchdog.stdin.take();
        let program = program.display().to_string();
        Ok(Self { lifeline, watchdog, log, program, scratch })
    }

    /// Waits until `is_ready` returns true; checked every 20 ms, for three minutes at most.
    ///
    /// # Errors
    /// When the program ends before or does not become ready; the text holds the end of its output.
    pub async fn wait_until_ready<F>(&self, is_ready: impl Fn() -> F) -> Result<()>
    where
        F: Future<Output = bool>,
    {
        let waiting = async {
            while !is_ready().await {
                if !self.is_running() {
                    return Err(self.complaint("ended at once"));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        tokio::time::timeout(START_LIMIT, waiting)
            .await
            .unwrap_or_else(|_| Err(self.complaint("did not become ready in three minutes")))
    }

    /// Whether the program still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.scratch.path().join("ended").exists()
    }

    /// The directory of the program.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The program's standard output and standard error so far.
    #[must_use]
    pub fn output(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    fn complaint(&self, what: &str) -> PartError {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        let end = lines[lines.len().saturating_sub(15)..].join("\n");
        PartError::new(format!("{} {what}; the end of its output:\n{end}", self.program))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // The watchdog ends within its own time limit; waiting for it keeps its port and directory from lingering.
        let _ = self.watchdog.wait();
    }
}

impl Stop {
    const fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Quit => "QUIT",
            Self::Kill => "KILL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn shell(script: &str, stop: Stop) -> Process {
        Process::start(Scratch::new("unit").unwrap(), Path::new("/bin/sh"), ["-c", script], stop).unwrap()
    }

    async fn pid_written_by(process: &Process) -> String {
        let file = process.directory().join("pid");
        process
            .wait_until_ready(|| async { file.metadata().is_ok_and(|data| data.len() > 0) })
            .await
            .unwrap();
        std::fs::read_to_string(&file).unwrap().trim().to_owned()
    }

    fn is_alive(pid: &str) -> bool {
        // A process that ended but was not yet collected still has its directory; its state shows that.
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }

    #[tokio::test]
    async fn the_drop_ends_the_program_and_removes_its_directory() {
        let process = shell("echo $$ >pid.new; mv pid.new pid; exec sleep 600", Stop::Terminate);
        let pid = pid_written_by(&process).await;
        let directory = process.directory().to_owned();
        assert!(is_alive(&pid) && process.is_running());
        drop(process);
        assert!(!is_alive(&pid) && !directory.exists());
    }

    #[tokio::test]
    async fn what_the_program_has_started_ends_with_it() {
        let process = shell("sleep 600 & echo $! >pid.new; mv pid.new pid; wait", Stop::Kill);
        let grandchild = pid_written_by(&process).await;
        assert!(is_alive(&grandchild));
        drop(process);
        let began = Instant::now();
        while is_alive(&grandchild) && began.elapsed() < crate::PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_alive(&grandchild));
    }

    #[tokio::test]
    async fn a_program_that_ends_early_is_an_error_with_its_output() {
        let process = shell("echo no such setting >&2; exit 3", Stop::Terminate);
        let error = process.wait_until_ready(|| async { false }).await.unwrap_err().to_string();
        assert!(error.contains("ended at once") && error.contains("no such setting"), "{error}");
        let directory = process.directory().to_owned();
        drop(process);
        assert!(!directory.exists());
    }

    /// The other half of the next test: a test process that starts a part and waits to be killed.
    #[tokio::test]
    #[ignore = "started by the next test, in a process of its own"]
    async fn a_test_process_with_a_part() {
        let process = shell("echo $$ >pid.new; mv pid.new pid; exec sleep 600", Stop::Terminate);
        let pid = pid_written_by(&process).await;
        println!("part {pid} {}", process.directory().display());
        std::thread::sleep(Duration::from_secs(600));
    }

    #[test]
    fn the_program_ends_when_the_test_process_is_killed() {
        use std::io::BufRead;
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["a_test_process_with_a_part", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(other.stdout.take().unwrap()).lines();
        let line = lines.map_while(std::io::Result::ok).find(|line| line.contains("part ")).unwrap();
        let (pid, directory) = line.split_once("part ").unwrap().1.split_once(' ').unwrap();
        assert!(is_alive(pid));
        other.kill().unwrap();
        other.wait().unwrap();
        let began = Instant::now();
        while (is_alive(pid) || Path::new(directory).exists()) && began.elapsed() < crate::PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_alive(pid) && !Path::new(directory).exists());
    }
}
