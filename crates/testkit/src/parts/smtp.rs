//! A real mail server (aiosmtpd) that keeps the messages it accepts. One Python program runs the mail servers of the
//! whole test process, each on its own port with its own messages: starting Python takes longer than most tests.

use super::{
    PartError, Result, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use bailiwick_settings::{Mail, Security};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tokio::sync::OnceCell;

/// Settings that send mail to a server on this port of the machine, without protection.
pub fn settings(port: u16) -> Mail {
    Mail {
        host: "127.0.0.1".to_owned(),
        port,
        security: Security::None,
        credentials: None,
        authority: None,
        from: "help@fleet.example.org".to_owned(),
        from_name: Some("Fleet".to_owned()),
        hello: None,
    }
}

const PACKAGE: &str = "python3-aiosmtpd";
const PROGRAM: &str = include_str!("smtp_sink.py");

/// A message as it was taken.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct Received {
    /// Sender of the envelope.
    pub from: String,
    /// Recipients of the envelope.
    pub to: Vec<String>,
    /// Decoded headers, names in small letters.
    pub headers: std::collections::BTreeMap<String, String>,
    /// Types of the message and its parts.
    pub kinds: Vec<String>,
    /// The decoded text part.
    pub text: Option<String>,
    /// The decoded HTML part.
    pub html: Option<String>,
    /// Whether TLS was spoken.
    pub encrypted: bool,
    /// The user that has signed in.
    pub user: Option<String>,
}

impl Received {
    /// The subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.headers.get("subject").map_or("", String::as_str)
    }

    /// The text part.
    #[must_use]
    pub fn body(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// How the server is set up.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Port; a spare one when none is named.
    pub port: Option<u16>,
    /// `user:password`, without which no message is accepted.
    pub account: Option<String>,
    /// Whether it requires STARTTLS, with a self-signed certificate.
    pub tls: bool,
}

/// The running server. It ends when the value is dropped.
#[derive(Debug)]
pub struct SmtpSink {
    port: u16,
    scratch: Scratch,
    program: &'static Program,
}

/// The program that runs all mail servers of this process; it ends with the process.
#[derive(Debug)]
struct Program {
    /// The port on which it takes commands.
    control: u16,
    process: Process,
}

impl Program {
    async fn get() -> Result<&'static Program> {
        static PROGRAM_OF_PROCESS: OnceCell<Program> = OnceCell::const_new();
        PROGRAM_OF_PROCESS.get_or_try_init(Program::start).await
    }

    async fn start() -> Result<Program> {
        let python = python()?;
        let scratch = Scratch::new("smtp")?;
        let file = scratch.write("sink.py", PROGRAM)?;
        let control = ports::spare()?;
        let process = Process::start(
            scratch,
            &python,
            [file.into_os_string(), control.to_string().into()],
            Stop::Kill,
        )?;
        process
            .wait_until_ready(|| std::future::ready(TcpStream::connect(("127.0.0.1", control)).is_ok()))
            .await?;
        Ok(Program { control, process })
    }

    /// Sends one command and waits until the program has carried it out.
    fn run(&self, command: &str) -> Result<()> {
        let failed = |error: std::io::Error| PartError::io("the mail server takes no commands", &error);
        let mut stream = TcpStream::connect(("127.0.0.1", self.control)).map_err(failed)?;
        stream.write_all(format!("{command}\n").as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).map_err(failed)?;
        if answer.trim() == "ok" {
            return Ok(());
        }
        Err(PartError::new(format!("mail server, {command}: {answer}{}", self.process.output())))
    }
}

impl Drop for SmtpSink {
    fn drop(&mut self) {
        // Nothing is left to close when this fails.
        let _ = self.program.run(&format!("close {}", self.port));
    }
}

impl SmtpSink {
    /// Starts one on a spare port that accepts every message.
    ///
    /// # Errors
    /// When aiosmtpd is missing or the server does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_as(Setup::default()).await
    }

    /// Starts one.
    ///
    /// # Errors
    /// When aiosmtpd is missing or the server does not come up.
    pub async fn start_as(setup: Setup) -> Result<Self> {
        let program = Program::get().await?;
        let scratch = Scratch::new("smtp")?;
        let port = setup.port.map_or_else(ports::spare, Ok)?;
        if let Some(account) = setup.account {
            scratch.write("account", account)?;
        }
        let directory = scratch.path().display();
        let mut command = format!("open {port} {directory}");
        if setup.tls {
            certificate(scratch.path())?;
            command.push_str(&format!(" {directory}/cert.pem {directory}/key.pem"));
        }
        program.run(&command)?;
        Ok(Self { port, scratch, program })
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The accepted messages so far, in order.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn messages(&self) -> Result<Vec<Received>> {
        let Ok(lines) = std::fs::read_to_string(self.scratch.path().join("messages")) else {
            return Ok(Vec::new());
        };
        let read =
            |line: &str| serde_json::from_str(line).map_err(|e| PartError::new(format!("{e}: {line}")));
        // A line without an end is still being written.
        lines.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(read).collect()
    }

    /// The answer to every recipient from now on, such as `451 later`; none = it accepts them.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn answer(&self, answer: Option<&str>) -> Result<()> {
        let file = self.scratch.path().join("answer");
        let done = match answer {
            Some(answer) => std::fs::write(&file, answer),
            None => std::fs::remove_file(&file),
        };
        done.map_err(|error| PartError::io("cannot tell the mail server what to answer", &error))
    }

    /// The certificate it shows with TLS (PEM).
    ///
    /// # Errors
    /// When it was started without.
    pub fn authority(&self) -> Result<Vec<u8>> {
        std::fs::read(self.scratch.path().join("cert.pem"))
            .map_err(|error| PartError::io("the mail server has no certificate", &error))
    }
}

/// The interpreter that has the library: the system's or the first one along `PATH`. Looked up once, because that takes
/// as long as starting the server.
fn python() -> Result<PathBuf> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let has_library = |python: &Path| {
        Command::new(python)
            .args(["-c", "import aiosmtpd.smtp"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let first = programs::find(&["python3"], PACKAGE, &[])?;
    let found =
        [programs::python()?, first].into_iter().find(|python| has_library(python)).ok_or_else(|| {
            PartError::new(format!(
                "aiosmtpd is not installed: run `make test` as root, or `apt-get install {PACKAGE}`"
            ))
        })?;
    Ok(FOUND.get_or_init(|| found).clone())
}

/// A self-signed certificate for 127.0.0.1.
fn certificate(directory: &Path) -> Result<()> {
    // Not an authority's certificate: rustls refuses one for a server.
    const SETTINGS: &str = "[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=v3\n[dn]\nCN=sink\n[v3]\n\
        basicConstraints=critical,CA:FALSE\nsubjectAltName=IP:127.0.0.1\n";
    let openssl = programs::find(&["openssl"], "openssl", &[])?;
    std::fs::write(directory.join("certificate.cnf"), SETTINGS)
        .map_err(|error| PartError::io("cannot write the settings of the certificate", &error))?;
    let output = Command::new(openssl)
        .current_dir(directory)
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-config", "certificate.cnf"])
        .output()
        .map_err(|error| PartError::io("cannot run openssl", &error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(PartError::new(format!("no certificate: {}", String::from_utf8_lossy(&output.stderr))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpStream;

    fn talk(port: u16, lines: &[&str]) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut answers = Vec::new();
        let mut answer = || loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.as_bytes().get(3) != Some(&b'-') {
                return line;
            }
        };
        answer();
        for line in lines {
            write!(stream, "{line}\r\n").unwrap();
            answers.push(answer());
        }
        answers
    }

    #[tokio::test]
    async fn it_takes_messages_decodes_them_and_refuses_on_request() {
        let sink = SmtpSink::start().await.unwrap();
        let message = "Subject: =?utf-8?q?Citt=C3=A0?=\r\n\r\nbody\r\n.";
        let lines = ["EHLO me", "MAIL FROM:<a@x.example>", "RCPT TO:<b@y.example>", "DATA", message];
        talk(sink.port(), &lines);
        let taken = sink.messages().unwrap();
        assert_eq!((taken.len(), taken[0].subject(), taken[0].body().trim()), (1, "Città", "body"));
        assert_eq!(taken[0].to, ["b@y.example"]);
        sink.answer(Some("550 no such user")).unwrap();
        assert!(talk(sink.port(), &lines[..3])[2].starts_with("550"));
        sink.answer(None).unwrap();
        assert!(talk(sink.port(), &lines[..3])[2].starts_with("250"));
    }
}
