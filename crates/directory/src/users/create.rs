//! POST (spec: users#create). With a Logto tenant the new user's account gets the generated password. Where people sign
//! in elsewhere otherwise, the user has no password and the mail says so.

use super::{
    UserBody, UserView, audited, distinct,
    fields::{Accepted, SentFields, accept, sent_values},
    grant_organization, shown,
};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, Happening, OrgId, Result, UserId,
    fold::fold,
    validate::{self, Fields, generate_password, username_candidates},
};
use bailiwick_events::{EventDraft, mail};
use bailiwick_identity::{logto_sync, passwords};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{
    Action, Caller, Granted, Refusal, Resource, UserHome, decide, gate, known_roles, may_grant,
    outside_owner_organization,
};
use bailiwick_store::{
    Tx, organizations,
    users::{self, Inserted, NewUser, Placed},
};

/// User names looked up at once while one is derived.
const NAMES_AT_ONCE: usize = 100;

/// Creates a user; with a generated password unless people have theirs elsewhere. In embedded mode the user must
/// replace it at the first sign-in.
pub async fn create(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<UserBody>,
) -> Result<UserView> {
    gate(caller, Action::Create, Resource::Users)?;
    let body = body()?;
    let role_ids = distinct(body.user_role_ids.unwrap_or_default());
    let organization_id = body.organization_id.unwrap_or_default();
    present(&role_ids, &organization_id, body.name.as_deref(), body.email.as_deref())?;
    let (granted, node) = grant_organization(service, caller, Action::Create, &organization_id).await?;
    known_roles(&service.platform.catalogue, &role_ids)?;
    may_grant(caller, &service.platform.catalogue, &role_ids, node.org_type)?;
    outside_owner_organization(Action::Create, node.org_type)
        .map_err(|e| e.with_values(&[("organization_id", &organization_id)]))?;
    let id: UserId = service.platform.fresh();
    let sent = SentFields {
        name: body.name.as_deref().unwrap_or_default(),
        email: body.email.as_deref().unwrap_or_default(),
        username: body.username.as_deref().filter(|u| !u.is_empty()),
        phone: body.phone.as_deref(),
        custom_data: body.custom_data,
        present: None,
        is_organization_active: !node.standing.suspended,
        organization_id: &organization_id,
    };
    let accepted = accept(service, id, sent).await?;
    let sender = caller.org().map_or(granted.id(), |own| own.id);
    let mails = mail::allow(&service.events, sender, &[accepted.email.as_str()]).await?;
    let made = async {
        let (new, password) = prepare(service, caller, id, role_ids, accepted).await?;
        write(service, caller, ctx, &granted, new, password.as_deref()).await
    };
    let written = mails.unless_failed(&service.events, made.await);
    // Another request may have taken a value since the fields were checked.
    let placed =
        written.map_err(|e| e.with_values(&sent_values(&body.email, &body.username, &body.phone)))?;
    mail::wake(&service.events);
    logto_sync::wake(&service.identity);
    shown(service, caller, placed).await
}

/// Roles and an organization must be given before anything is looked up. The answer names what else is missing, so that
/// people mend it all at once.
fn present(role_ids: &[String], organization: &str, name: Option<&str>, email: Option<&str>) -> Result<()> {
    let mut fields = Fields::new();
    if role_ids.is_empty() {
        fields.push("user_role_ids", "at least one role is required", "");
    }
    if organization.is_empty() {
        fields.push("organization_id", "required", "");
    }
    if role_ids.is_empty() || organization.is_empty() {
        let (name, email) = (name.unwrap_or_default(), email.unwrap_or_default());
        fields.check("name", name, validate::display_name(name));
        fields.check("email", email, validate::email(email));
    }
    fields.finish()
}

/// A new user (the name is still to be chosen when `username` is empty) and the password, if there is one.
async fn prepare(
    service: &Directory,
    caller: &Caller,
    id: UserId,
    role_ids: Vec<String>,
    accepted: Accepted,
) -> Result<(NewUser, Option<String>)> {
    let now = service.platform.now();
    let password =
        service.settings.identity.makes_accounts().then(|| generate_password(&*service.platform.entropy));
    let password_hash = match &password {
        Some(password) if service.identity.logto.is_none() => {
            Some(passwords::hash(&service.identity, password).await?)
        }
        _ => None,
    };
    let new = NewUser {
        id,
        username: accepted.username.unwrap_or_default(),
        email: accepted.email,
        email_verified: false,
        name: accepted.name,
        phone: accepted.phone,
        role_ids,
        custom_data: accepted.custom_data,
        password_generated_at: password_hash.is_some().then_some(now),
        password_hash,
        created_by: caller.creator(),
        at: now,
    };
    Ok((new, password))
}

async fn write(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    granted: &Granted<OrgId>,
    mut new: NewUser,
    password: Option<&str>,
) -> Result<Placed> {
    let mut tx = service.platform.db.begin().await?;
    // Checks the reach again: computing the hash has taken long.
    let node = organizations::node(&mut tx, granted.id()).await?;
    let home = UserHome { requested_id: granted.id().to_string(), node };
    let granted = decide(caller, Action::Create, &home).granted()?;
    if new.username.is_empty() {
        insert_with_derived_name(&mut tx, &granted, &mut new).await?;
    } else {
        inserted(users::insert(&mut tx, &granted, &new).await?, &new)?;
    }
    let placed = users::get(&mut tx, new.id).await?;
    let placed = placed.ok_or_else(|| Error::internal("a new user cannot be read back"))?;
    let event = audit::Event {
        action: AuditAction::UserCreate,
        object_type: "user",
        object_id: new.id.0,
        before: None,
        after: Some(audited(&placed.user)),
    };
    audit::record(&mut tx, new.at, caller, ctx, event).await?;
    EventDraft::user(Happening::Created, &placed.user).write(&mut tx, new.at).await?;
    match &service.identity.logto {
        // The mail is sent once the account exists.
        Some(_) => {
            logto_sync::user_created(&service.identity, &mut tx, new.id, password, Some(new.at)).await?
        }
        None => mail::welcome(&service.events, &mut tx, new.id, new.at, password).await?,
    }
    tx.commit().await?;
    Ok(placed)
}

/// The error for a value that another request has taken since the fields were checked.
fn inserted(outcome: Inserted, new: &NewUser) -> Result<()> {
    match outcome {
        Inserted::Done => Ok(()),
        Inserted::UsernameTaken => Err(Error::field_value("username", "already_exists", &new.username)),
        Inserted::SuspendedOrganization => Err(Error::field("organization_id", "organization is not active")),
        Inserted::NoOrganization => Err(Refusal::NotInHierarchy.into()),
    }
}

/// Takes the first free name derived from the address (spec: users#username).
async fn insert_with_derived_name(tx: &mut Tx, granted: &Granted<OrgId>, new: &mut NewUser) -> Result<()> {
    let email = new.email.clone();
    let mut candidates = username_candidates(&email, new.at).peekable();
    while candidates.peek().is_some() {
        let batch: Vec<String> = candidates.by_ref().take(NAMES_AT_ONCE).collect();
        let taken = users::taken_usernames(&mut *tx, &batch).await?;
        for name in batch.into_iter().filter(|name| !taken.contains(&fold(name))) {
            new.username = name;
            match users::insert(tx, granted, new).await? {
                // Another request has taken this name; try the next one.
                Inserted::UsernameTaken => {}
                outcome => return inserted(outcome, new),
            }
        }
    }
    Err(Error::field("username", "already_exists"))
}
