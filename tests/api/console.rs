//! The console by HTTP, as a browser without scripts uses it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail anywhere"
)]

#[path = "console/account.rs"]
mod account;
#[path = "console/acting.rs"]
mod acting;
#[path = "console/alerts.rs"]
mod alerts;
#[path = "console/applications.rs"]
mod applications;
#[path = "console/crawl.rs"]
mod crawl;
#[path = "console/events.rs"]
mod events;
#[path = "console/every_mail.rs"]
mod every_mail;
#[path = "console/factors.rs"]
mod factors;
#[path = "console/flash.rs"]
mod flash;
#[path = "console/forms.rs"]
mod forms;
#[path = "console/home.rs"]
mod home;
#[path = "console/imports.rs"]
mod imports;
#[path = "console/lists.rs"]
mod lists;
#[path = "console/mails.rs"]
mod mails;
#[path = "console/notifications.rs"]
mod notifications;
#[path = "console/organizations.rs"]
mod organizations;
#[path = "console/rebranding.rs"]
mod rebranding;
#[path = "console/rights.rs"]
mod rights;
#[path = "console/session.rs"]
mod session;
#[path = "console/states.rs"]
mod states;
#[path = "console/systems.rs"]
mod systems;
#[path = "console/unsent.rs"]
mod unsent;
#[path = "console/users.rs"]
mod users;
#[path = "console/weight.rs"]
mod weight;

use axum::http::Method;
use bailiwick_identity::auth;
use bailiwick_platform::keys::token_digest;
use bailiwick_store::console_sessions;
use bailiwick_testkit::{Call, Persona, Reply, Test};
use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

/// Where the console is, for the forms of its own pages.
pub const ORIGIN: &str = "http://127.0.0.1:8080";
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A browser with a session.
pub struct Browser<'t> {
    t: &'t Test,
    /// What its cookie holds.
    pub cookie: String,
    /// The note that the next page shows.
    note: Mutex<String>,
}

impl<'t> Browser<'t> {
    /// Signs a persona in; without a password there is no other way.
    pub async fn of(t: &'t Test, persona: &Persona) -> Browser<'t> {
        let session = auth::issue_token(&t.app.identity, persona.id).await.unwrap();
        let cookie = format!("{:043}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let hash = token_digest(&cookie);
        console_sessions::insert(&mut tx, &hash, session.chain, t.app.platform.now()).await.unwrap();
        tx.commit().await.unwrap();
        Browser { t, cookie, note: Mutex::default() }
    }

    /// A request with the cookie.
    pub fn call(&self, method: Method, path: &str) -> Call {
        let note = self.note.lock().unwrap();
        let cookies = format!("bailiwick-console={}; bailiwick-console-note={note}", self.cookie);
        self.t.call(method, path).header("cookie", &cookies)
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Reply {
        self.keep(self.call(Method::GET, path).send().await)
    }

    /// Sends a form of one of our pages.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.keep(self.call(Method::POST, path).header("origin", ORIGIN).form(form).send().await)
    }

    /// Keeps the cookie of a note, as browsers do.
    fn keep(&self, reply: Reply) -> Reply {
        if let Some(note) = set_cookie(&reply, "bailiwick-console-note") {
            *self.note.lock().unwrap() = note;
        }
        reply
    }
}

/// The value of a cookie that an answer sets.
pub fn set_cookie(reply: &Reply, name: &str) -> Option<String> {
    let lines = reply.headers.get_all("set-cookie").iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.filter_map(|line| line.split(';').next()?.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// What stands between two texts of a page.
pub fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    page.split(start).nth(1).unwrap_or_else(|| panic!("no {start} in {page}")).split(end).next().unwrap()
}
