//! Mail to people (spec: openid-provider#endpoints, account#change-info, users#create, users#update): written as jobs
//! in the transaction of the change, sent by the [`worker`] after the commit. Without a configured server no job is
//! made and everything else works.
//!
//! A job has ids, so that the mail shows the state at its sending. Secrets (a generated password, a link's token) are
//! sealed in the job and are removed with it.

mod allowance;
mod letter;
mod worker;

pub use allowance::{Allowance, allow};
pub use worker::mailer;
pub use worker::{purge, run_until_idle, send_test, start_worker};

use crate::Events;
use bailiwick_domain::{Error, Result, Ts, User, UserId, metrics::Counter};
use bailiwick_outbound::mail::Mailer;
use bailiwick_platform::{
    keys::{fresh_secret, token_digest},
    limits::{SlidingWindow, client_network},
};
use bailiwick_store::{
    Tx, identities,
    jobs::{self, NewJob},
    mail_links::{self, Link, Purpose},
};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, sync::OnceLock, time::Duration};
use tokio::sync::{Mutex, Notify};

/// Kind of the jobs.
pub const KIND: &str = "mail";

/// The purpose that secrets in jobs are sealed for.
const SEAL: &str = "mail";

/// Life of a link to a new password (spec: openid-provider#endpoints).
pub const PASSWORD_LINK: Duration = Duration::from_secs(3600);

/// Life of a link that confirms an address (spec: account#change-info).
pub const ADDRESS_LINK: Duration = Duration::from_secs(7 * 86_400);

/// Changes of their own address that a user may make within [`OWN_CHANGES_WINDOW`], as each is mailed.
const OWN_CHANGES: u64 = 5;
const OWN_CHANGES_WINDOW: Duration = Duration::from_secs(3600);

/// Numbers of tries to send by outcome, since the process began.
#[derive(Debug, Default)]
pub struct MailCounters {
    /// Taken by the server.
    pub sent: Counter,
    /// Not taken, tried again later.
    pub delayed: Counter,
    /// Given up.
    pub failed: Counter,
    /// Dropped, for there was nothing left to send.
    pub dropped: Counter,
}

/// The time in which requests for a new password by one client address add up (spec: conventions#limits).
const FORGOTTEN_WINDOW: Duration = Duration::from_secs(3600);

/// The state this process keeps for sending mail.
pub struct Outbox {
    /// Something was written.
    arrived: Notify,
    /// One worker of this process at a time.
    worker_lock: Mutex<()>,
    /// Numbers of mails by outcome.
    pub figures: MailCounters,
    /// Made by the first that sends.
    mailer: OnceLock<Result<Mailer, String>>,
    /// Requests for a new password by client address.
    forgotten: SlidingWindow<IpAddr>,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox {
            arrived: Notify::new(),
            worker_lock: Mutex::default(),
            figures: MailCounters::default(),
            mailer: OnceLock::new(),
            forgotten: SlidingWindow::new(FORGOTTEN_WINDOW),
        }
    }
}

impl Outbox {
    /// Counts a request for a new password; false when the client address has made `allowed` in an hour.
    pub fn may_ask(&self, allowed: u32, now: Ts, address: IpAddr) -> bool {
        let allowed = [(allowed as usize, FORGOTTEN_WINDOW)];
        self.forgotten.take(client_network(address), &allowed, now).is_ok()
    }
}

/// A mail to send, or a request that leads to one. The payload of the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
enum Task {
    /// A new account; the password is the one generated at that time.
    Welcome { user: UserId, generated_at: Ts, sealed: String },
    /// A new account of a user who signs in at an external provider.
    WelcomeElsewhere { user: UserId },
    /// A new account at a Logto tenant with its generated password.
    WelcomeAtProvider { user: UserId, sealed: String },
    /// A request for a new password by a user with this name. The worker looks it up, so the answer takes the same time
    /// whether or not the user exists.
    Forgotten { name: String },
    /// The link to a new password, to this address.
    PasswordLink { user: UserId, to: String, sealed: String },
    /// The address was changed; the mail goes to `to`.
    AddressChanged { user: UserId, to: String, old: String, new: String },
    /// The user's second factors have changed.
    SecondFactors { user: UserId, change: FactorChange },
    /// The link that confirms the new address.
    AddressLink { user: UserId, old: String, new: String, sealed: String },
}

/// What has changed of a user's second factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorChange {
    /// The user, or someone in their place, has added one.
    Added,
    /// A recovery code was used to sign in.
    RecoveryCodeUsed,
    /// An administrator or operator has removed all.
    Reset,
}

impl Task {
    /// The task without its secrets.
    fn without_secret(self) -> Task {
        let sealed = String::new();
        match self {
            Task::Welcome { user, generated_at, .. } => Task::Welcome { user, generated_at, sealed },
            Task::WelcomeAtProvider { user, .. } => Task::WelcomeAtProvider { user, sealed },
            Task::PasswordLink { user, to, .. } => Task::PasswordLink { user, to, sealed },
            Task::AddressLink { user, old, new, .. } => Task::AddressLink { user, old, new, sealed },
            other => other,
        }
    }
}

/// Whether mail is configured.
pub fn is_on(service: &Events) -> bool {
    service.settings.mail.is_some()
}

/// Wakes the worker after the commit; without it, the worker finds the job a little later.
pub fn wake(service: &Events) {
    service.outbox.arrived.notify_one();
}

/// The mail of a new account, with its generated password where it has one.
pub async fn welcome(
    service: &Events,
    tx: &mut Tx,
    user: UserId,
    generated_at: Ts,
    password: Option<&str>,
) -> Result<()> {
    if !is_on(service) {
        tracing::info!(user_id = %user, "mail is not configured: the new user gets no mail about their account");
        return Ok(());
    }
    let Some(password) = password else {
        return enqueue(service, tx, &Task::WelcomeElsewhere { user }).await;
    };
    enqueue(service, tx, &Task::Welcome { user, generated_at, sealed: seal(service, password)? }).await
}

/// The mail of a new account at the tenant, in the transaction that records the account.
pub async fn welcome_at_provider(service: &Events, tx: &mut Tx, user: UserId, password: &str) -> Result<()> {
    if !is_on(service) {
        tracing::info!(user_id = %user, "mail is not configured: the new user gets no mail about their account");
        return Ok(());
    }
    enqueue(service, tx, &Task::WelcomeAtProvider { user, sealed: seal(service, password)? }).await
}

/// The mail about changed second factors, to the user.
pub async fn second_factors_changed(
    service: &Events,
    tx: &mut Tx,
    user: UserId,
    change: FactorChange,
) -> Result<()> {
    if !is_on(service) {
        tracing::info!(user_id = %user, "mail is not configured: no notice of changed second factors is sent");
        return Ok(());
    }
    enqueue(service, tx, &Task::SecondFactors { user, change }).await
}

/// The user who changed an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// The owner of the address, who must confirm it, where there is a page for that.
    Owner,
    /// An administrator.
    Administrator,
}

/// The mails about a changed address.
pub async fn address_changed(
    service: &Events,
    tx: &mut Tx,
    before: &User,
    now_is: &str,
    changed_by: ChangedBy,
) -> Result<()> {
    let (user, old, new) = (before.id, before.email.clone(), now_is.to_owned());
    if old == new {
        return Ok(());
    }
    if !is_on(service) {
        tracing::info!(user_id = %user, "mail is not configured: no notice of the changed e-mail address is sent");
        return Ok(());
    }
    let notice =
        |to: &str| Task::AddressChanged { user, to: to.to_owned(), old: old.clone(), new: new.clone() };
    enqueue(service, tx, &notice(&old)).await?;
    if changed_by == ChangedBy::Administrator {
        return enqueue(service, tx, &notice(&new)).await;
    }
    // The links count the user's own changes. Where no page confirms an address, the link is made but not sent.
    let token = link(service, tx, user, Purpose::Address, &new).await?;
    if !service.settings.identity.is_embedded() {
        return enqueue(service, tx, &notice(&new)).await;
    }
    enqueue(service, tx, &Task::AddressLink { user, old, new, sealed: seal(service, &token)? }).await
}

/// Each change of a user's own address sends two mails, one of them to an address of the user's choice, so only a few
/// are allowed in an hour.
///
/// # Errors
/// 429 until the oldest of them is an hour old.
pub async fn check_own_changes(service: &Events, tx: &mut Tx, user: UserId, now: Ts) -> Result<()> {
    if !is_on(service) {
        return Ok(());
    }
    let since = now.minus(OWN_CHANGES_WINDOW);
    let (made, first) = mail_links::count_since(tx, user, Purpose::Address, since).await?;
    if made < OWN_CHANGES {
        return Ok(());
    }
    Err(Error::TooMany { retry_after: first.unwrap_or(now).since(since) })
}

/// A request for a new password; see [`Task::Forgotten`].
pub async fn forgotten(service: &Events, tx: &mut Tx, name: &str) -> Result<()> {
    enqueue(service, tx, &Task::Forgotten { name: name.to_owned() }).await
}

/// The user for a name, the address to write to, and a token. None for an unknown user, for one who may not sign in,
/// and beyond the limit of an account (spec: conventions#limits).
async fn forgotten_link(
    service: &Events,
    tx: &mut Tx,
    name: &str,
    now: Ts,
) -> Result<Option<(UserId, String, String)>> {
    let Some(user) = mail_links::find(&mut *tx, name).await? else { return Ok(None) };
    // The row is locked, so that concurrent requests are counted one after the other.
    let locked = identities::get_for_login(tx, user).await?;
    if !locked.is_some_and(|locked| locked.standing.is_enabled()) {
        return Ok(None);
    }
    let Some(addresses) = mail_links::addresses(&mut *tx, user).await? else { return Ok(None) };
    let (made, _) = mail_links::count_since(tx, user, Purpose::Password, now.minus(PASSWORD_LINK)).await?;
    if made >= u64::from(service.settings.limits.forgotten_mails) {
        tracing::info!(user_id = %user, "too many requests for a new password: no mail");
        return Ok(None);
    }
    let to = addresses.for_recovery().to_owned();
    let token = link(service, tx, user, Purpose::Password, &to).await?;
    Ok(Some((user, to, token)))
}

/// Stores a fresh link; its token.
async fn link(
    service: &Events,
    tx: &mut Tx,
    user: UserId,
    purpose: Purpose,
    address: &str,
) -> Result<String> {
    let (token, now) = (fresh_secret(&*service.platform.entropy), service.platform.now());
    let life = match purpose {
        Purpose::Password => PASSWORD_LINK,
        Purpose::Address => ADDRESS_LINK,
    };
    let link = Link {
        token_hash: token_digest(&token),
        purpose,
        user_id: user,
        address: address.to_owned(),
        created_at: now,
        expires_at: now.plus(life),
    };
    mail_links::insert(tx, &link).await?;
    Ok(token)
}

async fn enqueue(service: &Events, tx: &mut Tx, task: &Task) -> Result<()> {
    let now = service.platform.now();
    let payload = serde_json::to_value(task).map_err(Error::internal)?;
    let job = NewJob { id: service.platform.fresh(), kind: KIND, key: None, payload, next_at: now, at: now };
    Ok(jobs::enqueue(tx, job).await?)
}

fn seal(service: &Events, plain: &str) -> Result<String> {
    service.platform.keys.seal_text(SEAL, plain, &*service.platform.entropy)
}

fn open(service: &Events, sealed: &str) -> Result<String> {
    service.platform.keys.open_text(SEAL, sealed)
}
