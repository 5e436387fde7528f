//! Debian's chromium, driven by its WebDriver server.

use super::{
    PartError, Result, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

/// Headless, without the sandbox (it does not work for root), and quiet on the network.
const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A WebDriver server of its own; it and its browsers end when the value is dropped.
#[derive(Debug)]
pub struct Chromedriver {
    url: String,
    browser: String,
    profiles: AtomicU32,
    process: Process,
}

impl Chromedriver {
    /// Starts the server and waits until it accepts sessions.
    ///
    /// # Errors
    /// When chromium or chromedriver is missing or the server does not become ready.
    pub async fn start() -> Result<Self> {
        let program = programs::find(&["chromedriver"], "chromium-driver", &[])?;
        let browser = programs::find(&["chromium", "chromium-browser"], "chromium", &[])?;
        let port = ports::spare()?;
        let url = format!("http://127.0.0.1:{port}");
        let arguments = [format!("--port={port}"), "--log-level=WARNING".to_owned()];
        let process = Process::start(Scratch::new("browser")?, &program, arguments, Stop::Terminate)?;
        process.wait_until_ready(|| super::answers_ok(format!("{url}/status"))).await?;
        Ok(Self { url, browser: browser.display().to_string(), profiles: AtomicU32::new(0), process })
    }

    /// The address of the WebDriver server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The capabilities for one new session: a headless chromium with a fresh profile, 1280 by 900 points.
    ///
    /// # Errors
    /// When the directory of the profile cannot be made.
    pub fn capabilities(&self) -> Result<Value> {
        let number = self.profiles.fetch_add(1, Ordering::Relaxed);
        let profile = self.process.directory().join(format!("profile-{number}"));
        std::fs::create_dir(&profile)
            .map_err(|error| PartError::io("cannot make a browser profile", &error))?;
        let mut flags = FLAGS.map(str::to_owned).to_vec();
        flags.push("--window-size=1280,900".to_owned());
        flags.push(format!("--user-data-dir={}", profile.display()));
        Ok(json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": self.browser, "args": flags },
        }))
    }

    /// The server's log so far (warnings and errors).
    #[must_use]
    pub fn log(&self) -> String {
        self.process.output()
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Answer, Recorder};
    use super::*;

    /// Whether a process runs that has the text in its command line.
    fn is_in_use(text: &str) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(text))
    }

    #[tokio::test]
    #[ignore = "needs chromium; run by `make test-browser`"]
    async fn a_page_is_opened_and_everything_ends_with_the_value() {
        let site = Recorder::start(|_| {
            Answer::status(200).header("content-type", "text/html").body("<title>Hello</title>")
        });
        let site = site.await.unwrap();
        let part = Chromedriver::start().await.unwrap();
        let client = reqwest::Client::new();
        let wanted = json!({ "capabilities": { "alwaysMatch": part.capabilities().unwrap() } });
        let made = client.post(format!("{}/session", part.url())).json(&wanted).send().await.unwrap();
        let made: Value = made.json().await.unwrap();
        let session = made["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        let session = format!("{}/session/{session}", part.url());
        client.post(format!("{session}/url")).json(&json!({ "url": site.url() })).send().await.unwrap();
        let title: Value = client.get(format!("{session}/title")).send().await.unwrap().json().await.unwrap();
        assert_eq!(title["value"], "Hello");
        assert_eq!(site.requests()[0].path, "/");

        let directory = part.process.directory().to_owned();
        drop(part);
        let directory = directory.to_str().unwrap().to_owned();
        assert!(!std::path::Path::new(&directory).exists());
        let limit = std::time::Instant::now() + crate::PATIENCE;
        while is_in_use(&directory) {
            assert!(std::time::Instant::now() < limit, "a browser is left");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
