//! Creates the account of a user at the tenant. When the response to an earlier creation was lost, the worker searches
//! by the name of that creation and recognizes the account by our own id. It never searches for anything else.

use super::{
    LogtoSync, open, organization::LOCAL_ID, record_link, refused, seal, user::mirrored, worker::Stop,
};
use crate::Identity;
use bailiwick_domain::{User, UserId, validate::generate_password};
use bailiwick_events::mail;
use bailiwick_outbound::logto::LogtoError;
use bailiwick_store::{
    identities::account_links,
    logto::{
        self,
        outbox::{self, OutboxKind},
    },
    users,
};

/// An account that was created, or found again.
pub(super) struct Account {
    /// Its id.
    pub(super) subject: String,
    /// An earlier creation made it, so it may differ from the user's present state.
    pub(super) is_found: bool,
}

/// Creates the user's account, or finds the one that an earlier try has created. `is_wanted`: whether to create one.
/// None when there is no account, when the user has been destroyed meanwhile, or when they have signed in with another
/// account.
pub(super) async fn create(
    service: &Identity,
    logto: &LogtoSync,
    user: &User,
    is_wanted: bool,
) -> Result<Option<Account>, Stop> {
    let issuer = logto.issuer();
    let earlier = logto::pending(&service.platform.db, issuer, user.id).await?;
    if earlier.creating_at.is_some() {
        let name = earlier.creating_name.as_deref().unwrap_or(&user.username);
        if let Some(subject) = find(logto, user.id, name).await? {
            // Stored since before that creation, so it is the account's password.
            let password = earlier.sealed_password.as_ref().and_then(|sealed| open(service, sealed).ok());
            let subject = link(service, logto, user, subject, password.as_deref()).await?;
            return Ok(subject.map(|subject| Account { subject, is_found: true }));
        }
    }
    if !is_wanted {
        forget(service, logto, user.id).await?;
        return Ok(None);
    }
    let body = mirrored(user);
    let Some(password) = begin(service, logto, user).await? else { return Ok(None) };
    let subject = match logto.client.create_user(&body, &password).await {
        Ok(subject) => subject,
        Err(error) => {
            match error {
                LogtoError::Refused(_) => forget(service, logto, user.id).await?,
                _ => leave(service, logto, user).await?,
            }
            return Err(Stop::Logto(error));
        }
    };
    let subject = link(service, logto, user, subject, Some(&password)).await?;
    Ok(subject.map(|subject| Account { subject, is_found: false }))
}

/// Records that a creation is under way, and answers the password for it. None when the user has been destroyed.
async fn begin(service: &Identity, logto: &LogtoSync, user: &User) -> Result<Option<String>, Stop> {
    let (issuer, now) = (logto.issuer(), service.platform.now());
    let mut tx = service.platform.db.begin().await?;
    if users::lock(&mut tx, user.id).await?.is_none() {
        return Ok(None);
    }
    let pending = logto::pending(&mut tx, issuer, user.id).await?;
    // A password that no present secret opens is replaced, as if there were none.
    let password = match pending.sealed_password.as_ref().and_then(|sealed| open(service, sealed).ok()) {
        Some(password) => password,
        None => {
            let password = generate_password(&*service.platform.entropy);
            logto::keep_password(&mut tx, issuer, user.id, &seal(service, &password)?, Some(now)).await?;
            password
        }
    };
    logto::user_creating(&mut tx, issuer, user.id, now, &user.username).await?;
    tx.commit().await?;
    Ok(Some(password))
}

/// Nothing was created, so no later search may find anything: an object with our id would be taken for the account.
async fn forget(service: &Identity, logto: &LogtoSync, user: UserId) -> Result<(), Stop> {
    let mut tx = service.platform.db.begin().await?;
    logto::user_not_created(&mut tx, logto.issuer(), user).await?;
    Ok(tx.commit().await?)
}

/// The outcome of the creation is unknown. If the user was destroyed meanwhile, no later attempt would look for the
/// account, so this queues a search for it.
async fn leave(service: &Identity, logto: &LogtoSync, user: &User) -> Result<(), Stop> {
    let mut tx = service.platform.db.begin().await?;
    if users::lock(&mut tx, user.id).await?.is_none() {
        let gone = (OutboxKind::GoneUser, user.id.0);
        outbox::put_gone_unknown(&mut tx, logto.issuer(), gone, &user.username, service.platform.now())
            .await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Links the user to the account. Writes the welcome mail, if the password of the account is known.
async fn link(
    service: &Identity,
    logto: &LogtoSync,
    user: &User,
    subject: String,
    password: Option<&str>,
) -> Result<Option<String>, Stop> {
    let (issuer, now) = (logto.issuer(), service.platform.now());
    let mut tx = service.platform.db.begin().await?;
    if users::lock(&mut tx, user.id).await?.is_none() {
        // Destroyed meanwhile.
        outbox::put_gone_account(&mut tx, issuer, service.platform.fresh(), &subject, now).await?;
        tx.commit().await?;
        return Ok(None);
    }
    if account_links::insert(&mut tx, issuer, &subject, user.id, now).await? {
        record_link(service, &mut tx, user.id, &subject).await?;
    } else {
        match account_links::user(&mut tx, issuer, &subject).await? {
            // The user has signed in with this account meanwhile.
            Some(holder) if holder == user.id => {}
            // Another user has signed in with it: the account is theirs now.
            Some(_) => {
                logto::user_not_created(&mut tx, issuer, user.id).await?;
                tx.commit().await?;
                return Err(refused(422, "account", "already_exists"));
            }
            // The user has signed in with another account, so this one belongs to no user.
            None => {
                logto::user_not_created(&mut tx, issuer, user.id).await?;
                outbox::put_gone_account(&mut tx, issuer, service.platform.fresh(), &subject, now).await?;
                tx.commit().await?;
                return Ok(None);
            }
        }
    }
    let pending = logto::pending(&mut tx, issuer, user.id).await?;
    match password {
        Some(password) if pending.generated_at.is_some() => {
            mail::welcome_at_provider(&service.events, &mut tx, user.id, password).await?;
        }
        Some(_) => {}
        None => tracing::warn!(user_id = %user.id, "an earlier account was found; its password is unknown"),
    }
    logto::user_created(&mut tx, issuer, user.id).await?;
    tx.commit().await?;
    mail::wake(&service.events);
    tracing::info!(user_id = %user.id, "account created at the identity provider");
    Ok(Some(subject))
}

/// An account made by an earlier creation. Only our own id identifies it, never a name or an address.
pub(super) async fn find(logto: &LogtoSync, user: UserId, name: &str) -> Result<Option<String>, Stop> {
    let accounts = logto.client.find_user(name).await.map_err(Stop::Logto)?;
    let local_id = user.to_string();
    let own = accounts.into_iter().find(|account| account.custom_data[LOCAL_ID].as_str() == Some(&local_id));
    Ok(own.map(|account| account.id))
}
