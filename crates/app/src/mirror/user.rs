//! A user at the tenant: an account made once, then changed. Steps look at what is there first, so each can be repeated.

use super::{
    Mirror, aspect, names, open,
    organization::{LOCAL_ID, no_role},
    record_link, seal,
    worker::{Outcome, Stop},
};
use crate::{App, mail};
use bailiwick_domain::{OrgId, OrgType, User, UserId, fold::fold, validate::generate_password};
use bailiwick_outbound::logto::{LogtoError, MirroredUser, Named};
use bailiwick_store::{
    avatars,
    identities::linked,
    logto::{
        self,
        outbox::{self, Kind},
    },
    users::{self, Placed},
};
use serde_json::{Map, Value, json};

/// What the tenant gets of a user. Keys of the service win over the client's.
pub(super) fn mirrored(user: &User) -> MirroredUser {
    let mut custom_data: Map<String, Value> = user.custom_data.clone().unwrap_or_default();
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
    MirroredUser {
        username: user.username.clone(),
        name: user.name.clone(),
        primary_email: user.email.clone(),
        primary_phone: user.phone.clone().unwrap_or_default(),
        custom_data,
    }
}

pub(super) fn is_enabled(placed: &Placed) -> bool {
    let standing = placed.standing;
    !(standing.suspended || standing.suspended_above || standing.deleted || standing.deleted_above)
}

/// Tells of a user as he is now. Whether he may come in is told first, and a refusal of one thing keeps none of the
/// others back.
pub(super) async fn deliver(app: &App, mirror: &Mirror, id: UserId, aspects: i64) -> Result<Outcome, Stop> {
    let Some(placed) = users::get(&app.db, id).await? else { return Ok(Outcome::Done) };
    let organization = placed.user.organization.id;
    let linked = logto::subject(&app.db, mirror.issuer(), id).await?;
    // Made last: who has an account already is told of without it where it is not needed.
    let needs_home = linked.is_none() || aspects & aspect::MEMBERSHIP != 0;
    let home = logto::organization(&app.db, mirror.issuer(), organization).await?.0;
    if needs_home && home.is_none() {
        return wait_for(app, mirror, organization).await;
    }
    let (subject, aspects) = match linked {
        Some(subject) => (subject, aspects),
        None => match create(app, mirror, &placed).await? {
            Some(subject) => {
                let state = if is_enabled(&placed) { 0 } else { aspect::STATE };
                (subject, state | aspect::ROLES | aspect::MEMBERSHIP | (aspects & aspect::PICTURE))
            }
            None => return Ok(Outcome::Done),
        },
    };
    let mut refused = Vec::new();
    for one in [aspect::STATE, aspect::PROFILE, aspect::PICTURE, aspect::ROLES, aspect::MEMBERSHIP] {
        if aspects & one == 0 {
            continue;
        }
        match tell(app, mirror, &placed, &subject, home.as_deref(), one).await {
            Ok(()) => {}
            Err(Stop::Logto(LogtoError::Refused(refusal))) => refused.push(refusal.to_string()),
            Err(stop) => return Err(stop),
        }
    }
    Ok(if refused.is_empty() { Outcome::Done } else { Outcome::Refused(refused) })
}

/// His organization must be there first: it is noted unless it is, then the user's turn comes again.
async fn wait_for(app: &App, mirror: &Mirror, organization: OrgId) -> Result<Outcome, Stop> {
    let (issuer, now) = (mirror.issuer(), app.now());
    let mut tx = app.db.begin().await?;
    let (kind, all) = (Kind::Organization, aspect::ORGANIZATION);
    let is_new = outbox::put_new(&mut tx, issuer, kind, organization.0, all, now).await?;
    tx.commit().await?;
    Ok(Outcome::Wait { at_once: is_new })
}

async fn tell(
    app: &App,
    mirror: &Mirror,
    placed: &Placed,
    subject: &str,
    home: Option<&str>,
    what: i64,
) -> Result<(), Stop> {
    let (client, user) = (&mirror.client, &placed.user);
    let told = match what {
        aspect::STATE => client.set_suspended(subject, !is_enabled(placed)).await,
        aspect::PROFILE => client.update_user(subject, &mirrored(user)).await,
        aspect::PICTURE => {
            let has_one = avatars::etag(&app.db, user.id).await?.is_some();
            let settings = &app.settings;
            let url =
                format!("{}{}/public/users/{}/avatar", settings.app_url, settings.api_base_url, user.id);
            client.set_avatar(subject, if has_one { &url } else { "" }).await
        }
        aspect::ROLES => return tell_roles(app, mirror, user, subject).await,
        _ => match home {
            Some(home) => return tell_membership(app, mirror, user, subject, home).await,
            None => Ok(()),
        },
    };
    told.map_err(Stop::Logto)
}

/// Adds what is missing, then takes away what is too much: roles of the catalogue only.
async fn tell_roles(app: &App, mirror: &Mirror, user: &User, subject: &str) -> Result<(), Stop> {
    let wanted: Vec<&str> = user
        .role_ids
        .iter()
        .filter_map(|id| app.catalogue.user_role(id))
        .map(|role| role.name.as_str())
        .collect();
    let has_all = |names: &names::Names| wanted.iter().all(|name| names.user_role(name).is_some());
    let known = names::known(app, mirror, has_all).await.map_err(Stop::Logto)?;
    let held = mirror.client.roles_of_user(subject).await.map_err(Stop::Logto)?;
    let wanted_ids: Vec<&String> = wanted.iter().filter_map(|name| known.user_role(name)).collect();
    let holds = |id: &String| held.iter().any(|role| role.id == *id);
    let missing: Vec<String> = wanted_ids.iter().filter(|id| !holds(id)).map(|id| (*id).clone()).collect();
    if !missing.is_empty() {
        mirror.client.add_roles(subject, &missing).await.map_err(Stop::Logto)?;
    }
    let ours: Vec<String> = app.catalogue.user_roles().iter().map(|role| fold(&role.name)).collect();
    for role in &held {
        if ours.contains(&fold(&role.name)) && !wanted_ids.contains(&&role.id) {
            mirror.client.remove_role(subject, &role.id).await.map_err(Stop::Logto)?;
        }
    }
    if wanted_ids.len() < wanted.len() {
        let fields = vec![("user_role_ids".to_owned(), "not_found".to_owned())];
        let refusal = bailiwick_outbound::logto::Refusal { status: 422, fields, code: None };
        return Err(Stop::Logto(LogtoError::Refused(refusal)));
    }
    Ok(())
}

/// Joins his organization with the role of its type, then leaves the others that are organizations of ours.
async fn tell_membership(
    app: &App,
    mirror: &Mirror,
    user: &User,
    subject: &str,
    home: &str,
) -> Result<(), Stop> {
    let client = &mirror.client;
    let name = user.organization.org_type.role_name();
    let known = names::known(app, mirror, |names| names.organization_role(name).is_some()).await;
    let known = known.map_err(Stop::Logto)?;
    let role = known.organization_role(name);
    let member_of = client.organizations_of_user(subject).await.map_err(Stop::Logto)?;
    let is_member = member_of.iter().any(|organization| organization.id == home);
    if !is_member {
        client.join(home, subject).await.map_err(Stop::Logto)?;
    }
    let held: Vec<Named> = match is_member {
        true => client.roles_of_member(home, subject).await.map_err(Stop::Logto)?,
        false => Vec::new(),
    };
    if let Some(role) = role.filter(|role| !held.iter().any(|held| held.id == **role)) {
        client.add_member_role(home, subject, role).await.map_err(Stop::Logto)?;
    }
    let ours = OrgType::ALL.map(|org_type| fold(org_type.role_name()));
    for other in held.iter().filter(|held| Some(&held.id) != role && ours.contains(&fold(&held.name))) {
        client.remove_member_role(home, subject, &other.id).await.map_err(Stop::Logto)?;
    }
    let others: Vec<String> = member_of.into_iter().map(|o| o.id).filter(|id| id != home).collect();
    for theirs in logto::organizations_of(&app.db, mirror.issuer(), &others).await?.into_keys() {
        client.leave(&theirs, subject).await.map_err(Stop::Logto)?;
    }
    if role.is_none() { Err(no_role()) } else { Ok(()) }
}

/// Makes his account; its id. None when he is gone here meanwhile, or somebody else has linked him.
async fn create(app: &App, mirror: &Mirror, placed: &Placed) -> Result<Option<String>, Stop> {
    let (user, issuer) = (&placed.user, mirror.issuer());
    let body = mirrored(user);
    let Some((password, is_repeated)) = begin(app, mirror, user.id).await? else { return Ok(None) };
    let subject = match mirror.client.create_user(&body, &password).await {
        Ok(subject) => subject,
        Err(LogtoError::Refused(refusal)) => {
            let earlier = match is_repeated && refusal.is_taken() {
                true => find(mirror, user).await?,
                false => None,
            };
            match earlier {
                Some(subject) => subject,
                None => return Err(Stop::Logto(LogtoError::Refused(refusal))),
            }
        }
        Err(error) => return Err(Stop::Logto(error)),
    };
    let mut tx = app.db.begin().await?;
    let (now, is_there) = (app.now(), users::lock(&mut tx, user.id).await?.is_some());
    if !is_there || !linked::insert(&mut tx, issuer, &subject, user.id, now).await? {
        // Destroyed meanwhile, or he has come in with another account: this one is nobody's.
        outbox::put_gone_account(&mut tx, issuer, app.fresh(), &subject, now).await?;
        tx.commit().await?;
        return Ok(None);
    }
    let pending = logto::pending(&mut tx, issuer, user.id).await?;
    record_link(app, &mut tx, user.id, &subject).await?;
    if pending.generated_at.is_some() {
        mail::welcome_at_provider(app, &mut tx, user.id, &password).await?;
    }
    logto::user_created(&mut tx, issuer, user.id).await?;
    tx.commit().await?;
    mail::wake(app);
    tracing::info!(user_id = %user.id, "account made at the identity provider");
    Ok(Some(subject))
}

/// Remembers that a creation is under way; the password for it, and whether there was an earlier one. None when he is
/// gone.
async fn begin(app: &App, mirror: &Mirror, id: UserId) -> Result<Option<(String, bool)>, Stop> {
    let (issuer, now) = (mirror.issuer(), app.now());
    let mut tx = app.db.begin().await?;
    if users::lock(&mut tx, id).await?.is_none() {
        return Ok(None);
    }
    let pending = logto::pending(&mut tx, issuer, id).await?;
    // One that no present secret opens is replaced like none.
    let password = match pending.sealed_password.as_ref().and_then(|sealed| open(app, sealed).ok()) {
        Some(password) => password,
        None => {
            let password = generate_password(&*app.entropy);
            logto::keep_password(&mut tx, issuer, id, &seal(app, &password)?, Some(now)).await?;
            password
        }
    };
    logto::user_creating(&mut tx, issuer, id, now).await?;
    tx.commit().await?;
    Ok(Some((password, pending.creating_at.is_some())))
}

/// What an earlier creation has made. Only our own id tells: never a name or an address.
async fn find(mirror: &Mirror, user: &User) -> Result<Option<String>, Stop> {
    let found = match mirror.client.find_user(&user.username).await {
        Ok(found) => found,
        Err(LogtoError::Missing) => return Ok(None),
        Err(error) => return Err(Stop::Logto(error)),
    };
    let ours = user.id.to_string();
    let own = found.into_iter().find(|account| account.custom_data[LOCAL_ID].as_str() == Some(&ours));
    Ok(own.map(|account| account.id))
}
