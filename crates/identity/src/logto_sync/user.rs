//! A user at the tenant: an account created once, then updated. Each step reads the state there first, so it can be
//! repeated.

use super::{
    LogtoSync,
    account::{self, Account},
    aspect, names,
    organization::{LOCAL_ID, no_role},
    refused,
    worker::{Outcome, Stop},
};
use crate::Identity;
use bailiwick_domain::{OrgId, OrgType, User, UserId, exact, fold::fold};
use bailiwick_outbound::logto::{LogtoError, LogtoUserFields, Named};
use bailiwick_store::{
    StoreError, avatars,
    logto::{
        self,
        outbox::{self, OutboxKind},
    },
    users::{self, Placed},
};
use serde_json::{Map, Value, json};

/// The fields of a user at the tenant. The service's keys override the client's.
pub(super) fn mirrored(user: &User) -> LogtoUserFields {
    let mut custom_data: Map<String, Value> = exact::rounded(user.custom_data.clone().unwrap_or_default());
    let creator = user.created_by.as_ref().and_then(|by| by.organization_id);
    for (key, value) in [
        ("organizationId", json!(user.organization.id)),
        ("userRoleIds", json!(user.role_ids)),
        ("createdBy", json!(creator)),
        ("createdAt", json!(user.created_at.rfc3339(0))),
        (LOCAL_ID, json!(user.id)),
    ] {
        custom_data.insert(key.to_owned(), value);
    }
    LogtoUserFields {
        username: user.username.clone(),
        name: user.name.clone(),
        primary_email: user.email.clone(),
        primary_phone: user.phone.clone().unwrap_or_default(),
        custom_data,
    }
}

pub(super) fn is_enabled(placed: &Placed) -> bool {
    let standing = placed.standing;
    !(standing.suspended || standing.suspended_above || is_deleted(placed))
}

/// Individually or through an organization.
pub(super) fn is_deleted(placed: &Placed) -> bool {
    placed.standing.deleted || placed.standing.deleted_above
}

/// Sends the user's current state. Whether the user may sign in is sent first. Neither a refusal of one change nor an
/// organization that does not exist there yet holds the others back.
pub(super) async fn deliver(
    service: &Identity,
    logto: &LogtoSync,
    id: UserId,
    aspects: i64,
) -> Result<Outcome, Stop> {
    let Some(placed) = users::get(&service.platform.db, id).await? else { return Ok(Outcome::Done) };
    let (issuer, organization) = (logto.issuer(), placed.user.organization.id);
    let linked = logto::subject(&service.platform.db, issuer, id).await?;
    let home = logto::organization(&service.platform.db, issuer, organization).await?.id;
    let is_deleted = is_deleted(&placed);
    let (subject, mut aspects) = match linked {
        Some(subject) => (subject, aspects),
        None => {
            // No account is created for a deleted user. One whose creation has an unknown outcome may exist and sign
            // in.
            if is_deleted && logto::pending(&service.platform.db, issuer, id).await?.creating_at.is_none() {
                return Ok(Outcome::Nothing);
            }
            if !is_deleted && home.is_none() {
                return wait_for(service, logto, organization, Vec::new()).await;
            }
            let made = account::create(service, logto, &placed.user, !is_deleted).await?;
            let Some(Account { subject, is_found }) = made else { return Ok(Outcome::Nothing) };
            (subject, if is_found { aspect::USER } else { after_creation(service, &placed).await? })
        }
    };
    if home.is_none() {
        // No organization is created for a deleted user. A restored user needs one, and it may be missing for that
        // reason.
        aspects = match is_deleted {
            true => aspects & !aspect::MEMBERSHIP,
            false if aspects & aspect::STATE != 0 => aspects | aspect::MEMBERSHIP,
            false => aspects,
        };
    }
    let mut refused = Vec::new();
    for one in [aspect::STATE, aspect::PROFILE, aspect::PICTURE, aspect::ROLES, aspect::MEMBERSHIP] {
        if aspects & one == 0 {
            continue;
        }
        match send_aspect(service, logto, &placed, &subject, home.as_deref(), one).await {
            Ok(()) => {}
            Err(Stop::Logto(LogtoError::Refused(refusal))) => refused.push(refusal.to_string()),
            // An object is missing there: the account itself, or one that it was to be linked to.
            Err(Stop::Logto(LogtoError::Missing)) => {
                if logto.client.user(&subject).await.map_err(Stop::Logto)?.is_none() {
                    return Ok(Outcome::Refused(vec!["account: not_found".to_owned()]));
                }
                refused.push(match one {
                    aspect::ROLES => "user_role_ids: not_found".to_owned(),
                    aspect::MEMBERSHIP => "organization: not_found".to_owned(),
                    _ => return Err(Stop::Logto(LogtoError::Missing)),
                });
            }
            Err(stop) => return Err(stop),
        }
    }
    if home.is_none() && aspects & aspect::MEMBERSHIP != 0 {
        return wait_for(service, logto, organization, refused).await;
    }
    Ok(if refused.is_empty() { Outcome::Done } else { Outcome::Refused(refused) })
}

/// The aspects that the creation of an account does not cover.
async fn after_creation(service: &Identity, placed: &Placed) -> Result<i64, Stop> {
    let state = if is_enabled(placed) { 0 } else { aspect::STATE };
    let picture = if picture(service, placed.user.id).await?.is_empty() { 0 } else { aspect::PICTURE };
    Ok(state | picture | aspect::ROLES | aspect::MEMBERSHIP)
}

/// The address of the user's picture; `""` when there is none.
pub(super) async fn picture(service: &Identity, user: UserId) -> Result<String, StoreError> {
    let has_one = avatars::etag(&service.platform.db, user).await?.is_some();
    let settings = &service.settings;
    let url = || format!("{}{}/public/users/{user}/avatar", settings.app_url(), settings.api_base_url);
    Ok(if has_one { url() } else { String::new() })
}

/// The user's organization must exist at the tenant first. If it does not, it is queued, and the user is retried.
async fn wait_for(
    service: &Identity,
    logto: &LogtoSync,
    organization: OrgId,
    refused: Vec<String>,
) -> Result<Outcome, Stop> {
    let (issuer, now) = (logto.issuer(), service.platform.now());
    let mut tx = service.platform.db.begin().await?;
    let (kind, all) = (OutboxKind::Organization, aspect::ORGANIZATION);
    // Several users of a new organization are often sent in one round: each of them can follow it at once.
    let at_once = outbox::put_new(&mut tx, issuer, kind, organization.0, all, now).await?;
    tx.commit().await?;
    Ok(Outcome::Wait { at_once, refused })
}

async fn send_aspect(
    service: &Identity,
    logto: &LogtoSync,
    placed: &Placed,
    subject: &str,
    organization_id: Option<&str>,
    aspect_bit: i64,
) -> Result<(), Stop> {
    let (client, user) = (&logto.client, &placed.user);
    let result = match aspect_bit {
        aspect::STATE => client.set_suspended(subject, !is_enabled(placed)).await,
        aspect::PROFILE => client.update_user(subject, &mirrored(user)).await,
        aspect::PICTURE => client.set_avatar(subject, &picture(service, user.id).await?).await,
        aspect::ROLES => return send_roles(service, logto, user, subject).await,
        _ => match organization_id {
            Some(id) => return send_membership(service, logto, user, subject, id).await,
            None => Ok(()),
        },
    };
    result.map_err(Stop::Logto)
}

/// Adds the missing roles, then removes the excess ones; only roles of the catalogue.
async fn send_roles(service: &Identity, logto: &LogtoSync, user: &User, subject: &str) -> Result<(), Stop> {
    let wanted: Vec<&str> = user
        .role_ids
        .iter()
        .filter_map(|id| service.platform.catalogue.user_role(id))
        .map(|role| role.name.as_str())
        .collect();
    let has_all = |names: &names::Names| wanted.iter().all(|name| names.user_role(name).is_some());
    let assigned = logto.client.roles_of_user(subject).await.map_err(Stop::Logto)?;
    let holds = |id: &String| assigned.iter().any(|role| role.id == *id);
    let mut names = names::load(service, logto, has_all).await.map_err(Stop::Logto)?;
    let wanted_ids = loop {
        let wanted_ids: Vec<String> =
            wanted.iter().filter_map(|name| names.user_role(name)).cloned().collect();
        let missing: Vec<String> = wanted_ids.iter().filter(|id| !holds(id)).cloned().collect();
        if missing.is_empty() {
            break wanted_ids;
        }
        match logto.client.add_roles(subject, &missing).await {
            Ok(()) => break wanted_ids,
            Err(error) => names = names::anew(service, logto, &names, error).await.map_err(Stop::Logto)?,
        }
    };
    let managed: Vec<String> =
        service.platform.catalogue.user_roles().iter().map(|role| fold(&role.name)).collect();
    for role in &assigned {
        if managed.contains(&fold(&role.name)) && !wanted_ids.contains(&role.id) {
            logto.client.remove_role(subject, &role.id).await.map_err(Stop::Logto)?;
        }
    }
    if wanted_ids.len() < wanted.len() {
        return Err(refused(422, "user_role_ids", "not_found"));
    }
    Ok(())
}

/// Adds the user to their organization with the role of its type, then removes them from our other organizations.
async fn send_membership(
    service: &Identity,
    logto: &LogtoSync,
    user: &User,
    subject: &str,
    organization_id: &str,
) -> Result<(), Stop> {
    let client = &logto.client;
    let name = user.organization.org_type.role_name();
    let member_of = client.organizations_of_user(subject).await.map_err(Stop::Logto)?;
    let is_member = member_of.iter().any(|organization| organization.id == organization_id);
    if !is_member {
        client.join(organization_id, subject).await.map_err(Stop::Logto)?;
    }
    let assigned: Vec<Named> = match is_member {
        true => client.roles_of_member(organization_id, subject).await.map_err(Stop::Logto)?,
        false => Vec::new(),
    };
    let names = names::load(service, logto, |names| names.organization_role(name).is_some()).await;
    let mut names = names.map_err(Stop::Logto)?;
    let role = loop {
        let role = names.organization_role(name).cloned();
        match role.as_ref().filter(|role| !assigned.iter().any(|assigned| assigned.id == **role)) {
            None => break role,
            Some(missing) => match client.add_member_role(organization_id, subject, missing).await {
                Ok(()) => break role,
                Err(error) => {
                    names = names::anew(service, logto, &names, error).await.map_err(Stop::Logto)?
                }
            },
        }
    };
    let managed = OrgType::ALL.map(|org_type| fold(org_type.role_name()));
    let is_other = |other: &&Named| Some(&other.id) != role.as_ref() && managed.contains(&fold(&other.name));
    for other in assigned.iter().filter(is_other) {
        client.remove_member_role(organization_id, subject, &other.id).await.map_err(Stop::Logto)?;
    }
    let others = member_of.into_iter().map(|o| o.id).filter(|id| id != organization_id);
    let others: Vec<String> = others.collect();
    let managed = logto::organizations_of(&service.platform.db, logto.issuer(), &others).await?;
    for provider_id in managed.into_keys() {
        client.leave(&provider_id, subject).await.map_err(Stop::Logto)?;
    }
    if role.is_none() { Err(no_role()) } else { Ok(()) }
}

/// Removes the account of a destroyed user. If the tenant refuses, the user can at least no longer sign in.
pub(super) async fn remove(logto: &LogtoSync, account: &str) -> Result<Outcome, Stop> {
    let refusal = match logto.client.delete_user(account).await {
        Ok(()) => return Ok(Outcome::Done),
        Err(LogtoError::Refused(refusal)) => refusal,
        Err(error) => return Err(Stop::Logto(error)),
    };
    match logto.client.set_suspended(account, true).await {
        Ok(()) | Err(LogtoError::Refused(_)) => Ok(Outcome::Refused(vec![refusal.to_string()])),
        Err(LogtoError::Missing) => Ok(Outcome::Done),
        Err(error) => Err(Stop::Logto(error)),
    }
}
