//! Sends queued mails. Jobs are leased, so that several processes share them and jobs of a dead process are taken over;
//! a job is removed once the server has accepted the message. A crash between the two sends it again under the same
//! message id.

use super::{
    FactorChange, KIND, Task, enqueue, forgotten_link,
    letter::{self, MailKind},
    open, seal,
};
use crate::Events;
use bailiwick_domain::{Error, Language, Result, Ts, User, UserId};
use bailiwick_outbound::mail::{Letter, MailError, Mailer};
use bailiwick_platform::{
    jobs,
    worker::{Worker, until_idle},
};
use bailiwick_store::{
    identities,
    jobs::{self as leased_jobs, Job},
    mail_links::{self, Purpose},
    organizations, users,
};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tracing::Instrument;

/// Jobs leased at one time, and concurrent messages.
const CLAIMS: i64 = 4;
/// Longest time a leased job waits for a worker that has died; longer than sending takes.
const LEASE: Duration = Duration::from_secs(120);
/// How often the jobs are polled without a hint.
const POLL: Duration = Duration::from_secs(10);
/// Tries before a job has failed, about two days.
const ATTEMPTS: i64 = 20;
/// How long a failed job is kept for the operator.
const KEEP_ENDED: Duration = Duration::from_secs(30 * 86_400);
/// Starts the worker on the application's tracker, if mail is configured.
pub fn start_worker(service: &Events) {
    if !super::is_on(service) {
        tracing::info!("mail is not configured (smtp.host): nothing is sent, everything else works");
        return;
    }
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let step = || work_off(&worker);
        let hint = Some(&worker.outbox.arrived);
        Worker { name: KIND, failure: jobs::FAILURE, poll: POLL, hint, step }
            .run(&worker.platform.stop)
            .await;
        if let Some(Ok(mailer)) = worker.outbox.mailer.get() {
            mailer.close().await;
        }
    });
}

/// Processes all due jobs; for tests and commands. Returns their number.
pub async fn run_until_idle(service: &Events) -> Result<u64> {
    until_idle(|| work_off(service)).await
}

/// Removes expired links and old failed jobs; returns how many.
pub async fn purge(service: &Events) -> Result<u64> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin_relaxed().await?;
    let mut purged = mail_links::purge(&mut tx, now).await?;
    purged += leased_jobs::purge_ended(&mut tx, now.minus(KEEP_ENDED)).await?;
    tx.commit().await?;
    Ok(purged)
}

/// Leases once and processes the leased jobs.
async fn work_off(service: &Events) -> Result<u64> {
    let _guard = service.outbox.worker_lock.lock().await;
    if !super::is_on(service) {
        return Ok(0);
    }
    let now = service.platform.now();
    let leased = leased_jobs::claim(&service.platform.db, KIND, now, now.plus(LEASE), CLAIMS).await?;
    let handled = leased.iter().map(|job| handle(service, job).instrument(jobs::span(KIND)));
    join_all(handled).await.into_iter().collect::<Result<()>>()?;
    Ok(leased.len() as u64)
}

/// The outcome of a try.
enum Outcome {
    Sent(Task, String),
    /// There is nothing to say any more.
    Pointless(&'static str),
    /// Later again.
    Again(String),
    Never(String),
}

async fn handle(service: &Events, job: &Job) -> Result<()> {
    let task = serde_json::from_value::<Task>(job.payload.clone());
    let outcome = match task {
        Err(e) => Outcome::Never(format!("unreadable job: {e}")),
        Ok(Task::Forgotten { name }) if job.attempts <= ATTEMPTS => {
            match look_up(service, job, &name).await {
                Err(e) if !matches!(e, Error::Unavailable { .. }) => Outcome::Again(e.to_string()),
                done => return done,
            }
        }
        Ok(task) => match send(service, job, &task).await {
            Ok(outcome) => outcome,
            // The database is away: the lease expires, and this does not count against the mail.
            Err(e @ Error::Unavailable { .. }) => return Err(e),
            Err(e) => Outcome::Again(e.to_string()),
        },
    };
    settle(service, job, outcome).await
}

/// Makes the link of a forgotten password, if the user may have one.
async fn look_up(service: &Events, job: &Job, name: &str) -> Result<()> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    if let Some((user, to, token)) = forgotten_link(service, &mut tx, name, now).await? {
        enqueue(service, &mut tx, &Task::PasswordLink { user, to, sealed: seal(service, &token)? }).await?;
    }
    leased_jobs::finish(&mut tx, job).await?;
    Ok(tx.commit().await?)
}

async fn settle(service: &Events, job: &Job, outcome: Outcome) -> Result<()> {
    let (now, figures) = (service.platform.now(), &service.outbox.figures);
    let mut tx = service.platform.db.begin().await?;
    match outcome {
        Outcome::Sent(task, to) => {
            if let Task::Welcome { user, generated_at, .. } = task {
                note_mailed(&mut tx, user, generated_at, &to).await?;
            }
            leased_jobs::finish(&mut tx, job).await?;
            figures.sent.one();
            tracing::info!(job = %job.id, "mail sent");
        }
        Outcome::Pointless(why) => {
            leased_jobs::finish(&mut tx, job).await?;
            figures.dropped.one();
            tracing::info!(job = %job.id, why, "mail dropped");
        }
        Outcome::Again(why) if job.attempts < ATTEMPTS => {
            let why = jobs::reason(&why);
            figures.delayed.one();
            tracing::warn!(job = %job.id, attempt = job.attempts, error = why, "mail delayed");
            leased_jobs::postpone(&mut tx, job, jobs::RETRY.next_try(now, job.attempts), &why).await?;
        }
        Outcome::Again(why) | Outcome::Never(why) => {
            let why = jobs::reason(&why);
            figures.failed.one();
            tracing::error!(job = %job.id, attempt = job.attempts, error = why, "mail given up");
            let payload = serde_json::from_value::<Task>(job.payload.clone()).map(Task::without_secret);
            let payload = payload.and_then(serde_json::to_value).unwrap_or_else(|_| json!({}));
            leased_jobs::end(&mut tx, job, now, &why, payload).await?;
        }
    }
    Ok(tx.commit().await?)
}

/// A sign-in with this password will prove that the address is the user's (spec: account#change-info).
async fn note_mailed(tx: &mut bailiwick_store::Tx, user: UserId, generated_at: Ts, to: &str) -> Result<()> {
    if identities::get_for_login(tx, user).await?.is_none() {
        return Ok(());
    }
    let password = identities::password(&mut *tx, user).await?;
    if password.and_then(|p| p.generated_at) == Some(generated_at) {
        mail_links::note_mailed(tx, user, Some(to)).await?;
    }
    Ok(())
}

async fn send(service: &Events, job: &Job, task: &Task) -> Result<Outcome> {
    if job.attempts > ATTEMPTS {
        return Ok(Outcome::Never("gave up after the last attempt".into()));
    }
    let letter = match compose(service, job, task).await? {
        Ok(letter) => letter,
        Err(why) => return Ok(Outcome::Pointless(why)),
    };
    let mailer = match service.outbox.mailer.get_or_init(|| mailer(service)) {
        Ok(mailer) => mailer,
        Err(why) => return Ok(Outcome::Again(why.clone())),
    };
    Ok(match mailer.send(&letter).await {
        Ok(_) => Outcome::Sent(task.clone(), letter.to),
        Err(MailError::Delayed(why)) => Outcome::Again(why),
        Err(MailError::Refused(why)) => Outcome::Never(why),
    })
}

/// Connections to the configured server. They belong to the present runtime.
pub fn mailer(service: &Events) -> Result<Mailer, String> {
    let mail = service.settings.mail.as_ref().ok_or("mail is not configured")?;
    Mailer::new(mail.clone())
}

/// Sends a mail past the queue, for an operator who tries the server. Returns the reply of the server.
///
/// # Errors
/// A text for the operator: mail is not configured, or the error of the server or the network.
pub async fn send_test(service: &Events, to: &str) -> Result<String, String> {
    let mailer = mailer(service).map_err(|why| format!("{why} (smtp.host, smtp.from)"))?;
    let text = format!(
        "This is a test of the mail server of {}. Somebody with access to its command line has sent it.",
        service.settings.public_url
    );
    let letter = Letter {
        id: service.platform.fresh::<uuid::Uuid>().to_string(),
        to: to.to_owned(),
        to_name: to.to_owned(),
        subject: "Test mail".to_owned(),
        html: format!("<p>{text}</p>"),
        text,
        date_micros: service.platform.now().0,
    };
    let reply = mailer.send(&letter).await.map_err(|e| e.to_string());
    mailer.close().await;
    reply
}

/// The message of a task in its present state, or the reason why there is none.
async fn compose(service: &Events, job: &Job, task: &Task) -> Result<Result<Letter, &'static str>> {
    let user = match task {
        Task::Welcome { user, .. } | Task::PasswordLink { user, .. } | Task::AddressLink { user, .. }
            if !service.settings.identity.is_embedded() =>
        {
            tracing::debug!(user_id = %user, "a mail of the time when people signed in here");
            return Ok(Err("people sign in elsewhere now"));
        }
        Task::WelcomeAtProvider { user, .. } if service.settings.identity.logto().is_none() => {
            tracing::debug!(user_id = %user, "a mail of the time when accounts were made at a Logto tenant");
            return Ok(Err("people sign in elsewhere now"));
        }
        Task::Welcome { user, .. }
        | Task::WelcomeElsewhere { user }
        | Task::WelcomeAtProvider { user, .. }
        | Task::PasswordLink { user, .. }
        | Task::AddressChanged { user, .. }
        | Task::SecondFactors { user, .. }
        | Task::AddressLink { user, .. } => *user,
        Task::Forgotten { .. } => return Ok(Err("nothing to send")),
    };
    let Some(placed) = users::get(&service.platform.db, user).await? else {
        return Ok(Err("the user is gone"));
    };
    if placed.standing.deleted || placed.standing.deleted_above {
        return Ok(Err("the user is deleted"));
    }
    let user = placed.user;
    let Some(organization) = organizations::get(&service.platform.db, user.organization.id).await? else {
        return Ok(Err("the organization is gone"));
    };
    let language = letter::language_of(&organization, service.settings.language);
    let mut values = common(service, &user);
    let composed = match compose_parts(service, task, &user, language, &mut values).await? {
        Ok(composed) => composed,
        Err(why) => return Ok(Err(why)),
    };
    let filled = letter::fill(composed.kind, language, &values, composed.link.as_deref())?;
    Ok(Ok(Letter {
        id: job.id.to_string(),
        to: composed.to,
        to_name: user.name,
        subject: filled.subject,
        text: filled.text,
        html: filled.html,
        date_micros: service.platform.now().0,
    }))
}

/// The parts that differ between tasks.
struct Composed {
    kind: MailKind,
    to: String,
    link: Option<String>,
}

async fn compose_parts(
    service: &Events,
    task: &Task,
    user: &User,
    language: Language,
    values: &mut Map<String, Value>,
) -> Result<Result<Composed, &'static str>> {
    let now = service.platform.now();
    let page =
        |name: &str, token: &str| Some(format!("{}/{name}/{token}", service.settings.provider_issuer()));
    let mut set = |key: &str, value: String| values.insert(key.to_owned(), Value::String(value));
    Ok(Ok(match task {
        Task::Welcome { generated_at, sealed, .. } => {
            let present =
                identities::password(&service.platform.db, user.id).await?.and_then(|p| p.generated_at);
            let until = generated_at.plus(service.settings.provider.generated_password);
            if present != Some(*generated_at) || until <= now {
                return Ok(Err("the generated password is replaced or has expired"));
            }
            set("password", open(service, sealed)?);
            set("until", letter::shown(until));
            set("type", letter::word_of(language, user.organization.org_type.as_str()).to_owned());
            set("roles", roles(service, user));
            let link = service.settings.pages().own_password();
            Composed { kind: MailKind::Welcome, to: user.email.clone(), link: Some(link) }
        }
        Task::WelcomeAtProvider { sealed, .. } => {
            set("password", open(service, sealed)?);
            set("type", letter::word_of(language, user.organization.org_type.as_str()).to_owned());
            set("roles", roles(service, user));
            let link = service.settings.pages().own_password();
            Composed { kind: MailKind::WelcomeAtProvider, to: user.email.clone(), link: Some(link) }
        }
        Task::WelcomeElsewhere { .. } => {
            set("type", letter::word_of(language, user.organization.org_type.as_str()).to_owned());
            set("roles", roles(service, user));
            let link = Some(service.settings.pages().home());
            Composed { kind: MailKind::WelcomeElsewhere, to: user.email.clone(), link }
        }
        Task::PasswordLink { to, sealed, .. } => {
            let token = open(service, sealed)?;
            let hash = bailiwick_platform::keys::token_digest(&token);
            let Some(link) = mail_links::get(&service.platform.db, &hash, Purpose::Password, now).await?
            else {
                return Ok(Err("the link is used or has expired"));
            };
            set("until", letter::shown(link.expires_at));
            Composed { kind: MailKind::PasswordLink, to: to.clone(), link: page("new-password", &token) }
        }
        Task::AddressChanged { to, old, new, .. } => {
            set("old", old.clone());
            set("new", new.clone());
            Composed { kind: MailKind::AddressChanged, to: to.clone(), link: None }
        }
        Task::SecondFactors { change, .. } => {
            let kind = match change {
                FactorChange::Added => MailKind::SecondFactorAdded,
                FactorChange::RecoveryCodeUsed => MailKind::RecoveryCodeUsed,
                FactorChange::Reset => MailKind::SecondFactorsReset,
            };
            Composed { kind, to: user.email.clone(), link: service.settings.pages().own_factors() }
        }
        Task::AddressLink { old, new, sealed, .. } => {
            let token = open(service, sealed)?;
            let hash = bailiwick_platform::keys::token_digest(&token);
            let stored = mail_links::get(&service.platform.db, &hash, Purpose::Address, now).await?;
            let Some(link) = stored.filter(|_| user.email == *new && !user.email_verified) else {
                return Ok(Err("the address is no longer waiting to be confirmed"));
            };
            set("old", old.clone());
            set("new", new.clone());
            set("until", letter::shown(link.expires_at));
            Composed { kind: MailKind::AddressLink, to: new.clone(), link: page("confirm-address", &token) }
        }
        Task::Forgotten { .. } => return Ok(Err("nothing to send")),
    }))
}

/// Names of the user's roles.
fn roles(service: &Events, user: &User) -> String {
    let names =
        user.role_ids.iter().map(|id| service.platform.catalogue.user_role(id).map_or(id, |r| &r.name));
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The values that every mail may use.
fn common(service: &Events, user: &User) -> Map<String, Value> {
    let app_url = service.settings.pages().home();
    let support = service.settings.mail.as_ref().map_or("", |mail| mail.from.as_str());
    let pairs = [
        ("name", user.name.as_str()),
        ("email", &user.email),
        ("username", &user.username),
        ("organization", &user.organization.name),
        ("support", support),
        ("app_url", &app_url),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value.to_owned()))).collect()
}
