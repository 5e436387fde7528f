//! PUT (spec: users#update): absent fields stay; all sent fields are written together or not at all.

use super::{
    UserBody, UserView, audited, authorize_on_condition, distinct,
    fields::{Accepted, SentFields, accept, sent_values},
    grant_organization, load, shown,
};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, Happening, ObjectKind, OrgId, OrgType, Result, User, UserId, validate::Email,
};
use bailiwick_events::{EventDraft, mail};
use bailiwick_identity::{
    impersonation::{Changed, end_of_changed},
    logto_sync,
};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{
    Action, Caller, Granted, OrgNode, Refusal, UserHome, decide, known_roles, may_grant,
    outside_owner_organization,
};
use bailiwick_store::{
    Tx, mail_links, organizations,
    users::{self, Change, Inserted, Placed},
};

/// Changes a user; a new organization moves the user there.
pub async fn update(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
    body: impl FnOnce() -> Result<UserBody>,
) -> Result<UserView> {
    let loaded = load(service, id).await?;
    let (_, placed) = authorize_on_condition(service, caller, ctx, Action::Update, loaded)?;
    let body = body()?;
    let role_ids = body.user_role_ids.clone().map(distinct);
    if role_ids.as_ref().is_some_and(Vec::is_empty) {
        known_roles(&service.platform.catalogue, &[])?;
    }
    let moving = destination(service, caller, &placed.user, body.organization_id.as_deref()).await?;
    if let Some(role_ids) = &role_ids {
        known_roles(&service.platform.catalogue, role_ids)?;
    }
    let to = moving.as_ref().map(|(_, node)| node.org_type);
    let allowed = allow_result(service, caller, &placed.user, role_ids.as_deref(), to);
    allowed.map_err(|e| {
        e.with_values(&[("organization_id", body.organization_id.as_deref().unwrap_or_default())])
    })?;
    let accepted = accept(service, placed.user.id, sent(&body, &placed.user, moving.as_ref())).await?;
    let sent = (body.email.clone(), body.username.clone(), body.phone.clone());
    let mails = mails(service, caller, &placed.user, accepted.email.as_str()).await?;
    let write = Write { body, role_ids, accepted, organization: moving.map(|m| m.0) };
    let updated = mails.unless_failed(&service.events, write.run(service, caller, ctx, placed.user.id).await);
    // Another request may have taken a value since the fields were checked.
    let updated = updated.map_err(|e| e.with_values(&sent_values(&sent.0, &sent.1, &sent.2)))?;
    shown(service, caller, updated).await
}

/// The mails about another address: one to the old one, one to the new one.
pub(super) async fn mails(
    service: &Directory,
    caller: &Caller,
    user: &User,
    email: &str,
) -> Result<mail::Allowance> {
    let both = [user.email.as_str(), email];
    let to = if user.email == email { &both[..0] } else { &both[..] };
    mail::allow(&service.events, caller.org().map_or(user.organization.id, |own| own.id), to).await
}

/// The new organization, if the body names another one than the present.
async fn destination(
    service: &Directory,
    caller: &Caller,
    user: &User,
    requested_id: Option<&str>,
) -> Result<Option<(Granted<OrgId>, OrgNode)>> {
    match requested_id {
        None => Ok(None),
        Some("") => Err(Error::field("organization_id", "required")),
        Some(requested_id) if requested_id.parse() == Ok(user.organization.id) => Ok(None),
        Some(requested_id) => {
            grant_organization(service, caller, Action::Update, requested_id).await.map(Some)
        }
    }
}

/// The rank rule for the result: the roles and organization after the change (spec: authorization#rank).
fn allow_result(
    service: &Directory,
    caller: &Caller,
    user: &User,
    role_ids: Option<&[String]>,
    destination: Option<OrgType>,
) -> Result<()> {
    let org_type = destination.unwrap_or(user.organization.org_type);
    may_grant(caller, &service.platform.catalogue, role_ids.unwrap_or(&user.role_ids), org_type)?;
    match destination {
        Some(destination) => outside_owner_organization(Action::Update, destination),
        None => Ok(()),
    }
}

fn sent<'a>(
    body: &'a UserBody,
    user: &'a User,
    moving: Option<&(Granted<OrgId>, OrgNode)>,
) -> SentFields<'a> {
    SentFields {
        name: body.name.as_deref().unwrap_or(&user.name),
        email: body.email.as_deref().unwrap_or(&user.email),
        username: Some(body.username.as_deref().unwrap_or(&user.username)),
        phone: body.phone.as_deref().or(user.phone.as_deref()),
        custom_data: body.custom_data.clone(),
        present: Some(user),
        is_organization_active: moving.is_none_or(|(_, node)| !node.standing.suspended),
        organization_id: body.organization_id.as_deref().unwrap_or_default(),
    }
}

/// An accepted change.
struct Write {
    /// Holds the sent fields; the others stay as in the locked row.
    body: UserBody,
    role_ids: Option<Vec<String>>,
    accepted: Accepted,
    organization: Option<Granted<OrgId>>,
}

impl Write {
    async fn run(
        self,
        service: &Directory,
        caller: &Caller,
        ctx: &RequestContext,
        id: UserId,
    ) -> Result<Placed> {
        let mut tx = service.platform.db.begin().await?;
        let locked = users::lock(&mut tx, id).await?;
        // Checked again: the user may have moved, been promoted or deleted since.
        let (target, before) = authorize_on_condition(service, caller, ctx, Action::Update, locked)?;
        let before = before.user;
        if let Some(organization) = &self.organization {
            relocate(&mut tx, caller, &target, &before, organization.id()).await?;
        }
        let change = self.change(service, before.clone());
        users::update(&mut tx, &target, &change).await?;
        let after = users::get(&mut tx, id).await?.ok_or(Error::NotFound(ObjectKind::User))?;
        // The result is checked, as another request may have changed roles or organization in between.
        may_grant(
            caller,
            &service.platform.catalogue,
            &after.user.role_ids,
            after.user.organization.org_type,
        )?;
        if before.role_ids != after.user.role_ids || before.organization.id != after.user.organization.id {
            end_of_changed(&service.identity, &mut tx, change.at, Changed::User(id)).await?;
        }
        let event = audit::Event {
            action: AuditAction::UserUpdate,
            object_type: "user",
            object_id: id.0,
            before: Some(audited(&before)),
            after: Some(audited(&after.user)),
        };
        audit::record(&mut tx, change.at, caller, ctx, event).await?;
        let draft = EventDraft::user(Happening::Updated, &after.user)
            .with_changes(&audited(&before), &audited(&after.user));
        if before.organization.id != after.user.organization.id {
            EventDraft::user(Happening::Left, &before)
                .left(&before.organization)
                .write(&mut tx, change.at)
                .await?;
        }
        draft.write(&mut tx, change.at).await?;
        if before.email != after.user.email {
            // Another user confirms the new address, so it is no longer the user's own unconfirmed choice.
            mail_links::set_previous(&mut tx, id, None).await?;
            mail::address_changed(
                &service.events,
                &mut tx,
                &before,
                &after.user.email,
                mail::ChangedBy::Administrator,
            )
            .await?;
        }
        logto_sync::user_changed(&service.identity, &mut tx, &before, &after.user).await?;
        tx.commit().await?;
        mail::wake(&service.events);
        logto_sync::wake(&service.identity);
        Ok(after)
    }

    fn change(self, service: &Directory, before: User) -> Change {
        let Write { body, accepted, role_ids, .. } = self;
        let email = match body.email {
            Some(_) => accepted.email,
            None => Email::stored(&before.email),
        };
        Change {
            email_verified: before.email_verified && email.as_str() == before.email,
            username: body.username.and(accepted.username).unwrap_or(before.username),
            email,
            name: body.name.unwrap_or(before.name),
            phone: if body.phone.is_some() { accepted.phone } else { before.phone },
            role_ids: role_ids.unwrap_or(before.role_ids),
            custom_data: accepted.custom_data.or(before.custom_data),
            at: service.platform.now(),
        }
    }
}

async fn relocate(
    tx: &mut Tx,
    caller: &Caller,
    target: &Granted<UserId>,
    before: &User,
    destination: OrgId,
) -> Result<()> {
    let node = organizations::node(&mut *tx, destination).await?;
    let home = UserHome { requested_id: destination.to_string(), node };
    let target_organization = decide(caller, Action::Update, &home).granted()?;
    if destination == before.organization.id {
        return Ok(());
    }
    match users::relocate(tx, target, before.organization.id, &target_organization).await? {
        Inserted::Done => Ok(()),
        Inserted::SuspendedOrganization => Err(Error::field("organization_id", "organization is not active")),
        Inserted::UsernameTaken | Inserted::NoOrganization => Err(Refusal::NotInHierarchy.into()),
    }
}
