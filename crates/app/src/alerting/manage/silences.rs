//! One silence: made, seen, changed and ended by people (contract 04 §2.8), in both routers.
//!
//! With the embedded router a change, its record and its audit row are one transaction; with a remote one they are
//! written after the router has done it.

use super::{
    check_all, fingerprint,
    handling::{What, audited, record},
    remote,
    silence_lists::{key_of, of_their_systems},
    tenant, text, told,
};
use crate::{
    App,
    alerting::{AlertRouter, Sender, embedded, remote as at_remote},
    context::RequestContext,
};
use bailiwick_alerting::{
    Identity, Labels, ListedAlert, ListedSilence, Matcher, Nanos, PostedSilence, SilenceState, StoredAlert,
    StoredSilence, router::active_silences, silence::is_owned,
};
use bailiwick_domain::{Error, FieldError, OrgId, Result, SystemId, Ts};
use bailiwick_outbound::RouterClient;
use bailiwick_policy::{Action, Caller, decide};
use bailiwick_store::{
    Tx, alert_handling,
    history::{self, active},
    router as rows, systems as stored_systems,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use uuid::Uuid;

/// Minutes of a silence without an end.
const MINUTES: i64 = 60;
const MINUTES_MOST: i64 = 10_080;
const COMMENT: &str = "silenced from Bailiwick";

/// Where silences are looked for.
#[derive(Clone, Debug)]
pub enum Place {
    /// At one system, as the path names it.
    System(Option<SystemId>),
    /// In one organization, as the query names it.
    Organization(Vec<String>),
}

/// The same, found.
struct Found {
    tenant: OrgId,
    /// Key of the system, where one is named.
    system_key: Option<String>,
    is_registered: bool,
}

async fn find(app: &App, caller: &Caller, action: Action, place: &Place) -> Result<Found> {
    match place {
        Place::System(id) => {
            let id = id.ok_or(Error::NotFound("system"))?;
            let found = stored_systems::get(&app.db, id).await?.ok_or(Error::NotFound("system"))?;
            decide(caller, action, &found.target()).granted()?;
            let system = found.system;
            Ok(Found {
                tenant: system.organization.id,
                system_key: Some(system.system_key),
                is_registered: system.registered_at.is_some(),
            })
        }
        Place::Organization(ids) => {
            let tenant = tenant(app, caller, ids).await?;
            Ok(Found { tenant, system_key: None, is_registered: true })
        }
    }
}

/// In the name of a system, as the routers' rules want it.
fn sender<'a>(tenant: OrgId, system_key: &str, request_id: &'a str) -> Sender<'a> {
    let identity = Identity {
        system_key: system_key.to_owned(),
        organization_id: tenant.to_string(),
        ..Identity::default()
    };
    Sender { identity, tenant, request_id }
}

/// Who made the request and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// Caller.
    pub caller: &'a Caller,
    /// Request.
    pub ctx: &'a RequestContext,
}

/// A silence to be made.
#[derive(Clone, Debug, Default)]
pub struct NewSilence {
    /// The alert.
    pub fingerprint: String,
    /// Comment.
    pub comment: String,
    /// Length.
    pub duration_minutes: Option<i64>,
    /// End as sent; wins.
    pub end_at: Option<String>,
}

/// A silence to be changed.
#[derive(Clone, Debug, Default)]
pub struct SilenceChange {
    /// New end as sent.
    pub end_at: Option<String>,
    /// New comment; none keeps it.
    pub comment: Option<String>,
}

/// The end as sent, after `now` and within the longest silence.
fn end(app: &App, sent: &str, now: Ts) -> std::result::Result<Ts, FieldError> {
    let wrong = |code: &str| FieldError::new("end_at", code).with_value(sent);
    let is_time = sent.contains(['T', 't']) && sent.as_bytes().get(4) == Some(&b'-');
    let end = sent.parse::<Ts>().ok().filter(|_| is_time).ok_or_else(|| wrong("invalid_format"))?;
    if end <= now {
        return Err(wrong("must_be_future"));
    }
    if end.since(now) > app.settings.alerting.limits.content.silence_length {
        return Err(wrong("too_late"));
    }
    Ok(end)
}

fn comment(app: &App, sent: &str) -> std::result::Result<(), FieldError> {
    text("comment", sent, app.settings.alerting.limits.content.silence_bytes / 4)
}

/// `POST /systems/{id}/alerts/silences`, `POST /alerts/silences`; the id of the silence.
///
/// # Errors
/// As the steps of the contract say, then the router's.
pub async fn create_silence(
    app: &App,
    by: By<'_>,
    place: &Place,
    body: impl FnOnce() -> Result<NewSilence>,
) -> Result<Uuid> {
    let found = find(app, by.caller, Action::Update, place).await?;
    if !found.is_registered {
        return Err(Error::bad_request("system is not registered"));
    }
    let new = body()?;
    // Whole seconds, as the other routers' tools write it.
    let now = Ts::from_secs(app.now().secs());
    let minutes = new.duration_minutes.unwrap_or(MINUTES);
    let ends_at = match &new.end_at {
        Some(sent) => end(app, sent, app.now()),
        None if !(1..=MINUTES_MOST).contains(&minutes) => {
            Err(FieldError::new("duration_minutes", "out_of_range").with_value(minutes.to_string()))
        }
        None => Ok(now.plus(Duration::from_secs(minutes.unsigned_abs() * 60))),
    };
    let refused = ends_at.clone().map(drop);
    check_all([fingerprint(&new.fingerprint), comment(app, &new.comment), refused])?;
    let Ok(ends_at) = ends_at else { return Err(Error::field("end_at", "invalid_format")) };
    let words = Some(new.comment.trim()).filter(|c| !c.is_empty()).unwrap_or(COMMENT).to_owned();
    let draft = PostedSilence {
        id: None,
        matchers: Vec::new(),
        starts_at: Nanos::from_ts(now),
        ends_at: Nanos::from_ts(ends_at),
        created_by: author(by.caller),
        comment: words.clone(),
        annotations: Labels::default(),
    };
    let details = json!({"comment": words, "duration_minutes": ends_at.since(now).as_secs() / 60,
        "end_at": ends_at.rfc3339(0)});
    let what = |id| What { action: "silenced", silence: Some(id), details };
    match app.alerting().router() {
        AlertRouter::Embedded => {
            let mut tx = app.db.begin().await?;
            rows::lock_tenants(&mut tx, &[found.tenant]).await?;
            let (key, labels) = stored_alert(&mut tx, app, &found, &new.fingerprint).await?;
            let who = sender(found.tenant, &key, &by.ctx.request_id);
            let posted = PostedSilence { matchers: matchers(&labels), ..draft };
            let at = Nanos::from_ts(now);
            let id = embedded::set_silence_in(&mut tx, app, &who, at, posted).await.map_err(told)?;
            note(&mut tx, app, by, (found.tenant, &new.fingerprint), "alert_silence.create", what(id))
                .await?;
            tx.commit().await?;
            Ok(id)
        }
        AlertRouter::Remote(client) => {
            let alert = told_alert(app, client, &found, &new.fingerprint).await?;
            let key = alert.labels.value("system_key").to_owned();
            let who = sender(found.tenant, &key, &by.ctx.request_id);
            let posted = PostedSilence { matchers: matchers(&alert.labels), ..draft };
            let id = at_remote::set_silence(app, client, &who, &posted).await.map_err(told)?;
            let mut tx = app.db.begin().await?;
            note(&mut tx, app, by, (found.tenant, &new.fingerprint), "alert_silence.create", what(id))
                .await?;
            tx.commit().await?;
            Ok(id)
        }
    }
}

/// User name, else address, name, id, else the service.
fn author(caller: &Caller) -> String {
    let Some(who) = caller.identity() else { return "bailiwick".to_owned() };
    let names = [&who.username, &who.email, &who.name];
    let name = names.into_iter().find(|name| !name.trim().is_empty());
    name.cloned().unwrap_or_else(|| who.user_id.to_string())
}

/// Of every label that says something.
fn matchers(labels: &Labels) -> Vec<Matcher> {
    let told = labels.iter().filter(|(_, value)| !value.trim().is_empty());
    told.map(|(name, value)| Matcher::equal(name, value)).collect()
}

/// The active alert in the embedded router that is not silenced yet: the key of its system and its labels.
async fn stored_alert(tx: &mut Tx, app: &App, found: &Found, fingerprint: &str) -> Result<(String, Labels)> {
    let keys = [(found.tenant, fingerprint.to_owned())];
    let payload = rows::alerts_by_key(tx, &keys).await?.pop();
    let stored = payload.and_then(|(_, _, payload)| embedded::read::<StoredAlert>(&payload));
    let at = app.now();
    let is_listed = |a: &StoredAlert| a.is_listed(Nanos::from_ts(at), app.alerting().outage.get());
    let labels = stored.filter(is_listed).ok_or(Error::NotFound("alert"))?.labels;
    let key = owner(found, &labels)?;
    if history::homes(tx, &BTreeSet::from([key.clone()])).await?.get(&key) != Some(&found.tenant) {
        return Err(Error::NotFound("alert"));
    }
    let silences = rows::silences_of_system(&mut *tx, found.tenant, &key, at).await?;
    let listed: Vec<ListedSilence> = silences
        .iter()
        .filter_map(|payload| embedded::read::<StoredSilence>(payload))
        .map(|s| s.listed(Nanos::from_ts(at)))
        .collect();
    if active_silences(&listed).iter().any(|s| s.silences(&labels)) {
        return Err(Error::bad_request("alert is already silenced"));
    }
    Ok((key, labels))
}

/// The same at a remote router.
async fn told_alert(
    app: &App,
    client: &RouterClient,
    found: &Found,
    fingerprint: &str,
) -> Result<ListedAlert> {
    let known = alert_handling::firing(&app.db, found.tenant, fingerprint).await?;
    let key = found.system_key.as_deref().or(known.as_deref());
    let alerts = remote::alerts_of(app, client, found.tenant, key).await.map_err(told)?;
    let alert = alerts.into_iter().find(|a| a.fingerprint.to_string() == fingerprint);
    let alert = alert.ok_or(Error::NotFound("alert"))?;
    let key = owner(found, &alert.labels)?;
    if active::shown(&app.db, &[((found.tenant, fingerprint.to_owned()), key)])
        .await?
        .iter()
        .all(|(_, shown)| shown.system.is_none())
    {
        return Err(Error::NotFound("alert"));
    }
    if alert.status.silenced_by.is_empty() {
        Ok(alert)
    } else {
        Err(Error::bad_request("alert is already silenced"))
    }
}

/// The key of the alert's system, which is the one that is named, if one is.
fn owner(found: &Found, labels: &Labels) -> Result<String> {
    let key = labels.value("system_key");
    if found.system_key.as_deref().is_some_and(|wanted| wanted != key) {
        return Err(Error::NotFound("alert"));
    }
    if key.is_empty() {
        return Err(Error::bad_request("alert is not system-scoped (missing system_key label)"));
    }
    Ok(key.to_owned())
}

/// Records what was done to a silence and audits it.
async fn note(
    tx: &mut Tx,
    app: &App,
    by: By<'_>,
    (tenant, alert): (OrgId, &str),
    action: &str,
    what: What,
) -> Result<()> {
    let id = what.silence.unwrap_or_default();
    let mut told = what.details.clone();
    if let Value::Object(told) = &mut told {
        told.insert("organization_id".to_owned(), json!(tenant.to_string()));
        if !alert.is_empty() {
            told.insert("fingerprint".to_owned(), json!(alert));
        }
    }
    if !alert.is_empty() {
        record(tx, app, by.caller, (tenant, alert), what).await?;
    }
    audited(tx, app, by.caller, by.ctx, (action, "alert_silence", id), (None, Some(told))).await
}

/// A silence of the place, with the key of its system.
async fn look_up(
    app: &App,
    found: &Found,
    ctx: &RequestContext,
    id: &str,
) -> Result<(String, ListedSilence)> {
    let missing = || Error::NotFound("silence");
    let id = Uuid::try_parse(id).ok().filter(|_| id.len() == 36).ok_or_else(missing)?;
    let who = sender(found.tenant, found.system_key.as_deref().unwrap_or_default(), &ctx.request_id);
    let silence = match app.alerting().router() {
        AlertRouter::Embedded => embedded::silence(app, &who, id).await,
        AlertRouter::Remote(client) => at_remote::silence(client, &who, id).await,
    };
    let silence = match silence {
        Err(crate::alerting::Fault::UnknownTenant) => None,
        read => read.map_err(told)?,
    };
    let silence = silence.filter(|s| s.id == id).ok_or_else(missing)?;
    if let Some(key) = &found.system_key {
        return if is_owned(&silence.matchers, key) { Ok((key.clone(), silence)) } else { Err(missing()) };
    }
    let key = key_of(&silence.matchers).ok_or_else(missing)?.to_owned();
    let own = of_their_systems(app, vec![(found.tenant, silence)], None).await?.pop();
    own.map(|f| (key, f.silence)).ok_or_else(missing)
}

/// `GET …/silences/{silence_id}`.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn silence(app: &App, by: By<'_>, place: &Place, id: &str) -> Result<ListedSilence> {
    let found = find(app, by.caller, Action::Read, place).await?;
    Ok(look_up(app, &found, by.ctx, id).await?.1)
}

/// `PUT …/silences/{silence_id}`: its id from now on.
///
/// # Errors
/// 404 for one of another system or organization, 400 for fields; the router's.
pub async fn change_silence(
    app: &App,
    by: By<'_>,
    place: &Place,
    id: &str,
    body: impl FnOnce() -> Result<SilenceChange>,
) -> Result<Uuid> {
    let found = find(app, by.caller, Action::Update, place).await?;
    let (key, stored) = look_up(app, &found, by.ctx, id).await?;
    let change = body()?;
    let ends_at = match change.end_at.as_deref() {
        None | Some("") => Err(FieldError::new("end_at", "required")),
        Some(sent) => end(app, sent, app.now()),
    };
    let words = change.comment.as_deref().unwrap_or_default();
    check_all([ends_at.clone().map(drop), comment(app, words)])?;
    let Ok(ends_at) = ends_at else { return Err(Error::field("end_at", "required")) };
    if Nanos::from_ts(ends_at) <= stored.starts_at {
        return Err(Error::field("end_at", "must_be_after_start"));
    }
    let words = Some(words.trim()).filter(|c| !c.is_empty()).unwrap_or(&stored.comment).to_owned();
    let posted = PostedSilence {
        id: Some(stored.id),
        matchers: stored.matchers,
        starts_at: stored.starts_at,
        ends_at: Nanos::from_ts(ends_at),
        created_by: stored.created_by,
        comment: words.clone(),
        annotations: stored.annotations,
    };
    let who = sender(found.tenant, &key, &by.ctx.request_id);
    let details = json!({"comment": words, "end_at": ends_at.rfc3339(0)});
    let what = |id| What { action: "silence_updated", silence: Some(id), details };
    let mut tx;
    let new_id = match app.alerting().router() {
        AlertRouter::Embedded => {
            tx = app.db.begin().await?;
            rows::lock_tenants(&mut tx, &[found.tenant]).await?;
            let now = Nanos::from_ts(app.now());
            embedded::set_silence_in(&mut tx, app, &who, now, posted).await.map_err(told)?
        }
        AlertRouter::Remote(client) => {
            let set = at_remote::set_silence(app, client, &who, &posted).await.map_err(told)?;
            tx = app.db.begin().await?;
            set
        }
    };
    let alert = alert_handling::silenced(&mut tx, found.tenant, stored.id).await?.unwrap_or_default();
    note(&mut tx, app, by, (found.tenant, &alert), "alert_silence.update", what(new_id)).await?;
    tx.commit().await?;
    Ok(new_id)
}

/// `DELETE …/silences/{silence_id}`; one that is over already stays as it is.
///
/// # Errors
/// 404 for one of another system or organization; the router's.
pub async fn end_silence(app: &App, by: By<'_>, place: &Place, id: &str) -> Result<()> {
    let found = find(app, by.caller, Action::Update, place).await?;
    let (key, stored) = look_up(app, &found, by.ctx, id).await?;
    if stored.status.state == SilenceState::Expired {
        return Ok(());
    }
    let who = sender(found.tenant, &key, &by.ctx.request_id);
    let mut tx;
    let is_known = match app.alerting().router() {
        AlertRouter::Embedded => {
            tx = app.db.begin().await?;
            rows::lock_tenants(&mut tx, &[found.tenant]).await?;
            embedded::expire_silence_in(&mut tx, app, &who, stored.id).await.map_err(told)?
        }
        AlertRouter::Remote(client) => {
            let ended = at_remote::expire_silence(client, &who, stored.id).await.map_err(told)?;
            tx = app.db.begin().await?;
            ended
        }
    };
    if !is_known {
        return Err(Error::NotFound("silence"));
    }
    let alert = alert_handling::silenced(&mut tx, found.tenant, stored.id).await?.unwrap_or_default();
    let what = What { action: "unsilenced", silence: Some(stored.id), details: json!({}) };
    note(&mut tx, app, by, (found.tenant, &alert), "alert_silence.delete", what).await?;
    tx.commit().await?;
    Ok(())
}
