//! Maps a subject of the issuer to a user (spec: authentication#identity-modes): the linked user, or, at the first
//! sign-in, the user with the same verified e-mail address.

use super::{RelyingParty, Seen, userinfo, verified_address};
use crate::{
    Identity,
    auth::{Reason, revoke_user, suspended, unreadable},
    logto_sync, upstream,
};
use bailiwick_domain::{AuditAction, Error, ObjectKind, Result, Ts, UserId, host::ascii_domain};
use bailiwick_store::{
    Tx,
    audit::{self, AuditRecord},
    identities::{self, account_links},
    mail_links,
};
use serde_json::json;

/// The user behind the subject, if there is one.
pub(super) async fn find(
    service: &Identity,
    external: &RelyingParty,
    token: &str,
    token_identity: &Seen,
) -> Result<Option<UserId>> {
    let (issuer, subject) = (&external.settings.url, &token_identity.subject);
    // A user who was deleted individually keeps their subject until another user has the address.
    let deleted =
        match account_links::holder(&service.platform.db, issuer, subject).await.map_err(unreadable)? {
            Some((user, false)) => return Ok(Some(user)),
            Some((user, true)) => Some(user),
            None => None,
        };
    if !external.settings.link_by_email {
        return Ok(deleted);
    }
    let Some(email) = address(service, external, token, token_identity).await? else { return Ok(deleted) };
    Ok(link(service, issuer, subject, &email, deleted).await?.or(deleted))
}

/// The verified address: from the token if it has one, otherwise from the issuer.
async fn address(
    service: &Identity,
    external: &RelyingParty,
    token: &str,
    token_identity: &Seen,
) -> Result<Option<String>> {
    if let Some(email) = &token_identity.email {
        return Ok(email.clone());
    }
    let description = external.memory.description(service).await.map_err(upstream)?;
    let person = userinfo(external, &description, token).await?;
    // An answer about another subject proves nothing (OpenID Connect Core §5.3.2).
    let person = person.filter(|person| person.sub == token_identity.subject);
    Ok(person.and_then(|person| verified_address(&person)))
}

/// Stores the link, if exactly one live user without a link has the address. An address that a user has entered and not
/// confirmed proves nothing. If a `deleted` user holds the subject, the link moves to the new user.
async fn link(
    service: &Identity,
    issuer: &str,
    subject: &str,
    email: &str,
    deleted: Option<UserId>,
) -> Result<Option<UserId>> {
    let matching = identities::by_email(&service.platform.db, email).await.map_err(unreadable)?;
    let Some((candidate, _)) = matching else { return Ok(None) };
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await.map_err(unreadable)?;
    if let Some(deleted) = deleted {
        // Locked as well, so that the deleted user is not restored meanwhile.
        let locked = identities::get_for_login(&mut tx, deleted).await.map_err(unreadable)?;
        if !locked.is_some_and(|locked| locked.standing.is_deleted) {
            return Ok(None);
        }
    }
    // Locked, so that two simultaneous requests are linked one after the other, and then read again.
    let locked = identities::get_for_login(&mut tx, candidate.id).await.map_err(unreadable)?;
    let locked = locked.filter(|user| is_same_address(&user.email, email) && !user.standing.is_gone());
    let Some(user) = locked else { return Ok(None) };
    let addresses = mail_links::addresses(&mut tx, user.id).await.map_err(unreadable)?;
    let is_unconfirmed = addresses.is_none_or(|addresses| addresses.previous_email.is_some());
    if is_unconfirmed {
        return Ok(None);
    }
    let organization = Some(user.organization.id);
    let actor = (Some(user.id), organization);
    if let Some(deleted) = deleted {
        let was = account_links::remove(&mut tx, issuer, deleted).await.map_err(unreadable)?;
        if was.is_some_and(|was| was == subject) {
            record(&mut tx, now, actor, deleted, AuditAction::UserUnlink, (issuer, subject)).await?;
        } else {
            // Another request was faster.
            drop(tx);
            return account_links::user(&service.platform.db, issuer, subject).await.map_err(unreadable);
        }
    }
    if !account_links::insert(&mut tx, issuer, subject, user.id, now).await.map_err(unreadable)? {
        // The user has another link, or another request has stored this one.
        drop(tx);
        return account_links::user(&service.platform.db, issuer, subject).await.map_err(unreadable);
    }
    if let Some(reason) = user.standing.suspension() {
        return Err(suspended(reason));
    }
    record(&mut tx, now, actor, user.id, AuditAction::UserLink, (issuer, subject)).await?;
    logto_sync::user_linked(service, &mut tx, user.id).await?;
    tx.commit().await.map_err(unreadable)?;
    logto_sync::wake(service);
    tracing::info!(user_id = %user.id, "linked to an account of the identity provider");
    Ok(Some(user.id))
}

/// Whether they are the same except for upper and lower case and the form of the domain. The folded lookup finds more:
/// an address that only looks alike is another mailbox, even where lower-casing makes a plain letter of it (the Kelvin
/// sign).
fn is_same_address(one: &str, other: &str) -> bool {
    let lower = |text: &str| -> String {
        text.chars()
            .flat_map(|c| {
                let is_kept = !c.is_ascii() && c.to_lowercase().any(|lower| lower.is_ascii());
                let lower = (!is_kept).then(|| c.to_lowercase());
                is_kept.then_some(c).into_iter().chain(lower.into_iter().flatten())
            })
            .collect()
    };
    let canonical = |text: &str| match text.trim().rsplit_once('@') {
        Some((local, domain)) => (lower(local), ascii_domain(domain).unwrap_or_else(|| lower(domain))),
        None => (lower(text), String::new()),
    };
    canonical(one) == canonical(other)
}

async fn record(
    tx: &mut Tx,
    at: Ts,
    (actor_user_id, actor_organization_id): (Option<UserId>, Option<bailiwick_domain::OrgId>),
    user: UserId,
    action: AuditAction,
    (issuer, subject): (&str, &str),
) -> Result<()> {
    let link = json!({"issuer": issuer, "subject": subject});
    let (before, after) =
        if action == AuditAction::UserUnlink { (Some(link), None) } else { (None, Some(link)) };
    let entry = AuditRecord {
        at,
        actor_user_id,
        acting_for_user_id: None,
        actor_organization_id,
        action,
        object_type: "user",
        object_id: Some(user.0),
        before,
        after,
        request_id: None,
    };
    Ok(audit::record(tx, entry).await?)
}

/// Removes the user's link to the configured issuer and ends the user's sessions, for an operator whose provider has
/// given the user a new account. False, and nothing ended, when there was no link.
///
/// # Errors
/// `user not found`; no external provider is configured.
pub async fn unlink(service: &Identity, email: &str) -> Result<bool> {
    let external =
        service.external.as_ref().ok_or_else(|| Error::bad_request("identity.mode is embedded"))?;
    let (user, _) =
        identities::by_email(&service.platform.db, email).await?.ok_or(Error::NotFound(ObjectKind::User))?;
    let mut tx = service.platform.db.begin().await?;
    // Locked, so that no session starts at the same time.
    identities::get_for_login(&mut tx, user.id).await?.ok_or(Error::NotFound(ObjectKind::User))?;
    let (issuer, now) = (&external.settings.url, service.platform.now());
    let Some(subject) = account_links::remove(&mut tx, issuer, user.id).await? else { return Ok(false) };
    record(&mut tx, now, (None, None), user.id, AuditAction::UserUnlink, (issuer, &subject)).await?;
    revoke_user(&mut tx, now, user.id, None, Reason::Logout).await?;
    tx.commit().await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::is_same_address;

    #[test]
    fn an_address_that_only_looks_alike_is_another_one() {
        for (one, other, same) in [
            ("A.B@Example.org", " a.b@eXample.ORG ", true),
            ("ÀÈ@example.org", "àè@example.org", true),
            ("k@example.org", "\u{212a}@example.org", false),
            ("a@example.org", "ａ@example.org", false),
            ("i@example.org", "İ@example.org", false),
            ("a@example.org", "b@example.org", false),
        ] {
            assert_eq!(is_same_address(one, other), same, "{one} {other}");
        }
    }
}
