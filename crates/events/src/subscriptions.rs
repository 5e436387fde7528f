//! Event subscriptions of an organization: the types of events that a webhook receives (docs/events.md).

use super::{kinds, signatures};
use crate::Events;
use bailiwick_alertmanager::{
    redacted::REDACTED,
    webhook_target::{self, Target as Address},
};
use bailiwick_domain::{
    AuditAction, Error, ObjectKind, OrgId, OrgType, Page, PageRequest, Result,
    validate::{Fields, display_name},
};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{
    Action, Caller, Granted, Path, Permission, Scope, SubscriptionTarget, decide, hierarchy, in_hierarchy,
    subscription_gate,
};
use bailiwick_store::{
    Tx,
    events::{
        Visibility,
        subscriptions::{self, Counts, Subscription},
    },
    organizations,
};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// Most patterns of a subscription.
pub const MAX_TYPES: usize = 50;
/// How long the previous secret also signs.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// The body of a creation or change; none keeps the present value.
#[derive(Clone, Debug, Default)]
pub struct Input {
    pub name: Option<String>,
    pub url: Option<String>,
    /// `types`.
    pub types: Option<Vec<String>>,
    pub enabled: Option<bool>,
    /// `organization_id`; only on creation, by default the caller's own.
    pub organization_id: Option<String>,
}

/// A subscription as people see it.
#[derive(Clone, Debug)]
pub struct View {
    /// The row.
    pub subscription: Subscription,
    /// Its address.
    pub url: String,
    /// Counts of waiting and failed deliveries.
    pub counts: Counts,
    /// The secret, shown this once.
    pub secret: Option<String>,
}

/// The events an organization can read, regardless of the caller: those its users may read if they hold every
/// permission that its place allows.
pub(crate) fn sight_of(s: &Subscription) -> Visibility {
    let scope = match s.org_type {
        OrgType::Owner => Scope::Everything,
        OrgType::Customer => Scope::Organization(s.path.id),
        org_type => Scope::Subtree { root: s.path.id, org_type },
    };
    let is_wanted = |kind: &String| s.types.iter().any(|p| kinds::takes(p, kind));
    let (mut types, mut own) = (Vec::new(), Vec::new());
    for group in kinds::GROUPS {
        let wanted = group.types().filter(is_wanted);
        if group.is_below(s.org_type) { types.extend(wanted) } else { own.extend(wanted) }
    }
    Visibility { scope, types, own: Some((s.path.id, own)) }
}

/// Whether a subscription receives an event of this type about this object at its place in the tree.
pub(super) fn takes(
    s: &Subscription,
    visibility: &Visibility,
    path: &Path,
    kind: &str,
    object_id: &str,
) -> bool {
    let is_own =
        |(own, types): &(OrgId, Vec<String>)| object_id == own.to_string() && types.iter().any(|t| t == kind);
    s.is_enabled
        && visibility.scope.contains(path)
        && (visibility.types.iter().any(|t| t == kind) || visibility.own.as_ref().is_some_and(is_own))
}

/// A page of the subscriptions in the caller's hierarchy.
pub async fn list(service: &Events, caller: &Caller, page: PageRequest) -> Result<Page<View>> {
    let listed = subscriptions::list(&service.platform.db, &hierarchy(caller), page).await?;
    let ids: Vec<Uuid> = listed.rows.iter().map(|s| s.id).collect();
    let counts = subscriptions::counts(&service.platform.db, &ids).await?;
    let request = listed.request;
    let rows = listed.rows.into_iter().map(|s| {
        let counts = counts.get(&s.id).copied().unwrap_or_default();
        view(service, caller, s, counts, None)
    });
    Ok(Page { rows: rows.collect(), total: listed.total, request })
}

/// The subscriptions in the caller's hierarchy to which nothing arrives, or that the service has switched off.
///
/// # Errors
/// 403 without `read:alerts`.
pub async fn failing(service: &Events, caller: &Caller, page: PageRequest) -> Result<Page<View>> {
    if !caller.holds(Permission::ReadAlerts) {
        return Err(Error::insufficient_permissions());
    }
    let listed = subscriptions::failing(&service.platform.db, &hierarchy(caller), page).await?;
    Ok(listed.map(|s| view(service, caller, s, Counts::default(), None)))
}

fn view(
    service: &Events,
    caller: &Caller,
    subscription: Subscription,
    counts: Counts,
    secret: Option<String>,
) -> View {
    let url = address(service, &subscription);
    let url = if caller.may_see_alert_secrets() { url } else { webhook_target::redacted(&url) };
    View { url, subscription, counts, secret }
}

/// Its address. One sealed with another key is shown as unreadable: everything else of the subscription can be seen and
/// changed, and so can the address.
fn address(service: &Events, s: &Subscription) -> String {
    signatures::open(&service.platform.keys, s.id, &s.url).unwrap_or_else(|e| {
        tracing::error!(subscription = %s.id, error = %e, "the address of a subscription cannot be opened");
        webhook_target::redacted("")
    })
}

/// An address as sent: none keeps the stored one, and so does its redacted form (spec: alert-management#management).
///
/// # Errors
/// `invalid_value` for the redacted form of another address.
fn sent_address(url: Option<String>, stored: Option<&str>) -> Result<Option<String>> {
    let Some(url) = url else { return Ok(None) };
    let is_redacted = url.contains(REDACTED) && url.eq_ignore_ascii_case(&webhook_target::redacted(&url));
    if !is_redacted {
        return Ok(Some(url));
    }
    let is_kept = stored.is_some_and(|stored| webhook_target::redacted(stored).eq_ignore_ascii_case(&url));
    // A redacted address has no more than a host.
    if is_kept { Ok(None) } else { Err(Error::field_value("url", "invalid_value", &url)) }
}

/// The subscription, if the caller has permission for the action.
///
/// # Errors
/// 404 when the caller may not see it or it does not exist, 403 when the caller may see but not do this.
pub async fn load(
    service: &Events,
    caller: &Caller,
    action: Action,
    id: Option<Uuid>,
) -> Result<(Granted<Uuid>, Subscription)> {
    subscription_gate(caller, action)?;
    let subscription = match id {
        Some(id) => subscriptions::get(&service.platform.db, id).await?,
        None => None,
    };
    allowed(caller, action, subscription)
}

pub(super) fn allowed(
    caller: &Caller,
    action: Action,
    subscription: Option<Subscription>,
) -> Result<(Granted<Uuid>, Subscription)> {
    let s = subscription.filter(|s| !s.is_deleted).ok_or(Error::NotFound(ObjectKind::EventSubscription))?;
    Ok((decide(caller, action, &SubscriptionTarget { id: s.id, path: s.path }).granted()?, s))
}

/// Reads one subscription with its counts of deliveries.
pub async fn show(service: &Events, caller: &Caller, id: Option<Uuid>) -> Result<View> {
    let (_, s) = load(service, caller, Action::Read, id).await?;
    let counts =
        subscriptions::counts(&service.platform.db, &[s.id]).await?.remove(&s.id).unwrap_or_default();
    Ok(view(service, caller, s, counts, None))
}

/// Creates a subscription with a fresh secret.
pub async fn create(
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<Input>,
) -> Result<View> {
    if !caller.holds(Permission::ManageAlerts) {
        return Err(Error::insufficient_permissions());
    }
    let body = body()?;
    let own = caller.org().map(|o| o.id);
    let requested = body.organization_id.as_deref().filter(|id| !id.is_empty());
    let organization = requested.map_or(own, |id| id.parse().ok());
    let node = match organization {
        Some(id) => organizations::node(&service.platform.db, id).await?,
        None => None,
    };
    let granted = in_hierarchy(caller, node.as_ref())?;
    let node = node.ok_or_else(|| Error::internal("a grant without an organization"))?;
    let name = body.name.clone().unwrap_or_default();
    let types = body.types.unwrap_or_default();
    readable(caller, &types)?;
    let url = sent_address(body.url, None)?.unwrap_or_default();
    check(service, granted.id(), Some(&name), Some(&url), Some(&types)).await?;
    let (id, secret, now) = (
        service.platform.fresh::<Uuid>(),
        signatures::generate(&*service.platform.entropy),
        service.platform.now(),
    );
    let enabled = body.enabled.unwrap_or(true);
    let new = Subscription {
        id,
        path: node.path,
        org_type: node.org_type,
        is_deleted: false,
        is_suspended: false,
        name,
        url: signatures::seal(&service.platform.keys, &*service.platform.entropy, id, &url)?,
        named_by: names(caller),
        secret: signatures::seal(&service.platform.keys, &*service.platform.entropy, id, &secret)?,
        previous_secret: None,
        previous_until: None,
        types,
        is_enabled: enabled,
        disabled_at: (!enabled).then_some(now),
        disabled_reason: None,
        failing_since: None,
        failures: 0,
        last_error: None,
        last_success_at: None,
        next_at: now,
        created_at: now,
        updated_at: now,
    };
    let mut tx = service.platform.db.begin().await?;
    if !subscriptions::insert(&mut tx, &granted, &new, service.settings.events.subscriptions).await? {
        return Err(Error::conflict("too many event subscriptions"));
    }
    record(
        &mut tx,
        service,
        caller,
        ctx,
        (AuditAction::EventSubscriptionCreate, id),
        [None, Some(audited(&new, Some(&url)))],
    )
    .await?;
    tx.commit().await?;
    Ok(view(service, caller, new, Counts::default(), Some(secret)))
}

/// Changes a subscription. Enabling it resets its count of failures.
pub async fn update(
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
    body: impl FnOnce() -> Result<Input>,
) -> Result<View> {
    let (_, stored) = load(service, caller, Action::Update, id).await?;
    let mut body = body()?;
    body.url = sent_address(body.url, Some(&address(service, &stored)))?;
    // A new address receives the events of the old one, so the caller must be able to read them.
    let leads_elsewhere = body.types.is_some() || body.url.is_some();
    if leads_elsewhere {
        readable(caller, body.types.as_ref().unwrap_or(&stored.types))?;
    }
    check(service, stored.path.id, body.name.as_deref(), body.url.as_deref(), body.types.as_deref()).await?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let (granted, mut s) = allowed(caller, Action::Update, subscriptions::lock(&mut tx, stored.id).await?)?;
    let before = audited(&s, None);
    s.name = body.name.unwrap_or(s.name);
    s.types = body.types.unwrap_or(s.types);
    if leads_elsewhere {
        readable(caller, &s.types)?;
    }
    if let Some(url) = &body.url {
        s.url = signatures::seal(&service.platform.keys, &*service.platform.entropy, s.id, url)?;
        s.named_by = names(caller);
    }
    match body.enabled {
        Some(true) if !s.is_enabled => {
            (s.is_enabled, s.disabled_at, s.disabled_reason) = (true, None, None);
            (s.failing_since, s.failures, s.last_error, s.next_at) = (None, 0, None, now);
        }
        Some(false) if s.is_enabled => (s.is_enabled, s.disabled_at) = (false, Some(now)),
        _ => {}
    }
    if body.url.is_some() {
        s.next_at = now;
    }
    s.updated_at = now;
    subscriptions::change(&mut tx, &granted, &s).await?;
    let after = audited(&s, body.url.as_deref());
    record(
        &mut tx,
        service,
        caller,
        ctx,
        (AuditAction::EventSubscriptionUpdate, s.id),
        [Some(before), Some(after)],
    )
    .await?;
    tx.commit().await?;
    service.deliveries.hint.notify_one();
    show(service, caller, Some(s.id)).await
}

/// Deletes a subscription with its deliveries.
pub async fn remove(service: &Events, caller: &Caller, ctx: &RequestContext, id: Option<Uuid>) -> Result<()> {
    let (_, stored) = load(service, caller, Action::Delete, id).await?;
    let mut tx = service.platform.db.begin().await?;
    let (granted, s) = allowed(caller, Action::Delete, subscriptions::lock(&mut tx, stored.id).await?)?;
    subscriptions::remove(&mut tx, &granted).await?;
    record(
        &mut tx,
        service,
        caller,
        ctx,
        (AuditAction::EventSubscriptionDelete, s.id),
        [Some(audited(&s, None)), None],
    )
    .await?;
    Ok(tx.commit().await?)
}

/// A fresh secret; the previous one also signs for a day.
///
/// # Errors
/// 403 for an API key and under impersonation, which never see secrets: the holder of a secret can sign as the service.
pub async fn rotate(
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<Uuid>,
) -> Result<View> {
    let (_, stored) = load(service, caller, Action::Update, id).await?;
    if !caller.may_see_alert_secrets() {
        return Err(Error::forbidden("access denied: secrets are shown to people in person only"));
    }
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let (granted, mut s) = allowed(caller, Action::Update, subscriptions::lock(&mut tx, stored.id).await?)?;
    let secret = signatures::generate(&*service.platform.entropy);
    let sealed = signatures::seal(&service.platform.keys, &*service.platform.entropy, s.id, &secret)?;
    s.previous_secret = Some(std::mem::replace(&mut s.secret, sealed));
    s.previous_until = Some(now.plus(OVERLAP));
    s.updated_at = now;
    subscriptions::change(&mut tx, &granted, &s).await?;
    let after = json!({"previous_until": s.previous_until});
    record(
        &mut tx,
        service,
        caller,
        ctx,
        (AuditAction::EventSubscriptionRotateSecret, s.id),
        [None, Some(after)],
    )
    .await?;
    tx.commit().await?;
    let counts =
        subscriptions::counts(&service.platform.db, &[s.id]).await?.remove(&s.id).unwrap_or_default();
    Ok(view(service, caller, s, counts, Some(secret)))
}

/// Seals addresses and secrets of all subscriptions again, so that the previous secret of the service can be removed;
/// returns how many do not open and stay as they are.
pub async fn reseal_all(service: &Events) -> Result<u64> {
    const AT_ONCE: i64 = 200;
    let (mut lost, mut after) = (0, Uuid::nil());
    loop {
        let page = subscriptions::after(&service.platform.db, after, AT_ONCE).await?;
        let Some(last) = page.last() else { return Ok(lost) };
        after = last.id;
        for stored in page {
            let mut tx = service.platform.db.begin().await?;
            let Some(mut s) = subscriptions::lock(&mut tx, stored.id).await? else { continue };
            if sealed_anew(service, &mut s).is_err() {
                tracing::error!(subscription = %s.id, "a subscription cannot be opened; it stays as it is");
                lost += 1;
                continue;
            }
            subscriptions::save(&mut tx, &s).await?;
            tx.commit().await?;
        }
    }
}

fn sealed_anew(service: &Events, s: &mut Subscription) -> Result<()> {
    let anew = |sealed: &[u8]| {
        signatures::seal(
            &service.platform.keys,
            &*service.platform.entropy,
            s.id,
            &signatures::open(&service.platform.keys, s.id, sealed)?,
        )
    };
    let (url, secret) = (anew(&s.url)?, anew(&s.secret)?);
    let previous = s.previous_secret.as_deref().map(anew).transpose()?;
    (s.url, s.secret, s.previous_secret) = (url, secret, previous);
    Ok(())
}

/// The organization of the user who names an address; none under impersonation, because that user may belong above it.
fn names(caller: &Caller) -> Option<OrgId> {
    caller.org().filter(|_| caller.acting_for().is_none()).map(|o| o.id)
}

/// Refuses types of events that the caller cannot read.
fn readable(caller: &Caller, types: &[String]) -> Result<()> {
    for group in kinds::GROUPS {
        // Resources that are never below the caller's organization, and its own organization, need no further
        // permission.
        let is_below = caller.org_type().is_none_or(|org_type| group.is_below(org_type));
        let is_asked = || group.types().any(|kind| types.iter().any(|p| kinds::takes(p, &kind)));
        if is_below && !caller.holds(group.permission) && is_asked() {
            return Err(Error::forbidden(format!(
                "access denied: {} events need {}",
                group.topic.as_str(),
                group.permission.as_str()
            )));
        }
    }
    Ok(())
}

async fn check(
    service: &Events,
    organization: OrgId,
    name: Option<&str>,
    url: Option<&str>,
    types: Option<&[String]>,
) -> Result<()> {
    let mut fields = Fields::new();
    if let Some(name) = name {
        fields.check("name", name, display_name(name));
    }
    let address = url.map(|url| Address::parse(url, service.webhooks.allowed()));
    if let Some(Err(code)) = &address {
        // The address may be a secret.
        fields.push("url", *code, "");
    }
    if let Some(types) = types {
        if types.is_empty() {
            fields.push("types", "required", "");
        } else if types.len() > MAX_TYPES {
            fields.push("types", "too_many", "");
        } else if let Some(unknown) = types.iter().find(|pattern| !kinds::is_known(pattern)) {
            fields.push("types", "invalid_value", unknown);
        }
    }
    fields.finish()?;
    if let Some(Ok(target)) = address {
        let looked_up = service.webhooks.look_up(organization, &target).await;
        looked_up.map_err(|code| Error::field("url", code))?;
    }
    Ok(())
}

/// The fields that the audit keeps: of the address only its host.
fn audited(s: &Subscription, url: Option<&str>) -> Value {
    let host = url.and_then(|url| Some(url::Url::parse(url).ok()?.host_str()?.to_owned()));
    json!({
        "name": s.name, "organization_id": s.path.id, "types": s.types, "enabled": s.is_enabled, "url_host": host,
    })
}

pub(super) async fn record(
    tx: &mut Tx,
    service: &Events,
    caller: &Caller,
    ctx: &RequestContext,
    (action, id): (AuditAction, Uuid),
    [before, after]: [Option<Value>; 2],
) -> Result<()> {
    let event = audit::Event { action, object_type: "event_subscription", object_id: id, before, after };
    audit::record(tx, service.platform.now(), caller, ctx, event).await
}
