//! What the operator does before any user can sign in: the first start, which creates the owner organization with its
//! first user (spec: authentication#identity-modes), and the commands that need only the database and the secret.

use crate::App;
use bailiwick_domain::{
    AuditAction, Error, ObjectKind, OrgId, OrgType, Result, UserId,
    org::Details,
    validate::{self, Email, Fields},
};
use bailiwick_identity::{
    auth,
    logto_sync::{self, passwords as there},
    passwords::{self, Origin, PasswordLocation},
};
use bailiwick_platform::Secret;
use bailiwick_policy::{Action, Caller, Catalogue, UserHome, decide};
use bailiwick_store::{
    Tx,
    audit::{self, AuditRecord},
    demo, identities, organizations,
    users::{self, Inserted, NewUser},
};
use serde_json::{Map, json};

/// The outcome of [`ensure_owner`].
#[derive(Clone, Debug)]
pub enum FirstStart {
    /// There was an owner organization already.
    Done,
    /// This call has created it and its first user.
    Created {
        /// Sign-in address.
        email: String,
        /// The password if it was generated: printed once and stored nowhere.
        generated_password: Option<Secret<String>>,
    },
}

/// Creates the owner organization and its first user unless they exist. Several processes may start at once: one of
/// them creates, the others find it done.
///
/// # Errors
/// The configured address or password is not acceptable, or the database fails.
pub async fn ensure_owner(app: &App) -> Result<FirstStart> {
    if organizations::owner(&app.platform.db).await?.is_some() {
        return Ok(FirstStart::Done);
    }
    let settings = &app.settings.owner;
    let (password, is_generated) = match &settings.password {
        // With sign-in at another provider, the user has no password here, unless this service creates their account
        // there.
        _ if !app.settings.identity.makes_accounts() => (None, false),
        _ if app.settings.identity.logto().is_some_and(|logto| logto.owner_user_id.is_some()) => {
            (None, false)
        }
        Some(password) => (Some(password.reveal().clone()), false),
        None => (Some(validate::generate_password(&*app.platform.entropy)), true),
    };
    let new = NewOwnerUser {
        email: settings.email.clone(),
        username: Some(validate::OWNER_USERNAME.to_owned()),
        name: settings.name.clone(),
        password: password.clone().map(Secret::new),
    };
    let checked = new.check("owner.")?;
    let new_password = new.password(app).await?;
    match create_all(app, &checked, new_password).await {
        Ok(()) => Ok(FirstStart::Created {
            email: checked.email.as_str().to_owned(),
            generated_password: password.filter(|_| is_generated).map(Secret::new),
        }),
        // Only one owner organization can exist: the second process fails to create it.
        Err(_) if organizations::owner(&app.platform.db).await?.is_some() => Ok(FirstStart::Done),
        Err(e) => Err(e),
    }
}

/// Where a new user's password is stored.
enum NewPassword {
    /// Stored here, hashed.
    Here(Option<String>),
    /// Set for the account at the tenant.
    There(Secret<String>),
}

async fn create_all(app: &App, user: &Checked, password: NewPassword) -> Result<()> {
    let mut tx = app.platform.db.begin().await?;
    let organization = organizations::NewOrganization {
        id: app.platform.fresh(),
        org_type: OrgType::Owner,
        details: Details::new(app.settings.owner.organization.clone(), ""),
        vat: None,
        custom_data: Map::new(),
        created_by: None,
        at: app.platform.now(),
    };
    organizations::insert(&mut tx, None, &organization).await?;
    logto_sync::organization_created(&app.identity, &mut tx, organization.id).await?;
    let created = json!({"name": organization.details.name, "type": "owner"});
    record(app, &mut tx, (AuditAction::OwnerOrganizationCreate, "organization"), organization.id.0, created)
        .await?;
    insert_owner_user(app, &mut tx, organization.id, user, password).await?;
    tx.commit().await?;
    logto_sync::wake(&app.identity);
    Ok(())
}

/// A further user of the owner organization; only the operator creates them (spec: authorization#owner-organization).
#[derive(Clone, Debug)]
pub struct NewOwnerUser {
    /// Sign-in address.
    pub email: String,
    /// None = derived from the address.
    pub username: Option<String>,
    /// Display name.
    pub name: String,
    /// Password; needs no replacement. None where people sign in elsewhere.
    pub password: Option<Secret<String>>,
}

struct Checked {
    email: Email,
    username: Option<String>,
    name: String,
}

impl NewOwnerUser {
    /// Applies the field rules; `prefix` makes the keys name the settings. The first owner's user name is reserved for
    /// that user alone.
    fn check(&self, prefix: &str) -> Result<Checked> {
        let mut fields = Fields::new();
        let key = |name: &str| format!("{prefix}{name}");
        let email = fields.check(&key("email"), &self.email, validate::email(&self.email));
        fields.check(&key("name"), &self.name, validate::display_name(&self.name));
        if let Some(username) = &self.username {
            fields.check(
                &key("username"),
                username,
                validate::username(username, Some(validate::OWNER_USERNAME)),
            );
        }
        if let Some(password) = &self.password {
            fields.check_secret(&key("password"), validate::password(password.reveal()));
        }
        fields.finish()?;
        let email = email.ok_or_else(|| Error::internal("an address that is neither right nor wrong"))?;
        Ok(Checked { email, username: self.username.clone(), name: self.name.clone() })
    }

    async fn password(&self, app: &App) -> Result<NewPassword> {
        match &self.password {
            Some(password) if app.identity.logto.is_some() => Ok(NewPassword::There(password.clone())),
            Some(password) => {
                Ok(NewPassword::Here(Some(passwords::hash(&app.identity, password.reveal()).await?)))
            }
            None => Ok(NewPassword::Here(None)),
        }
    }
}

/// Creates a Super Admin of the owner organization.
///
/// # Errors
/// Wrong fields; an address or user name that is taken; no owner organization yet.
pub async fn create_owner_user(app: &App, new: &NewOwnerUser) -> Result<UserId> {
    let checked = new.check("")?;
    let password = new.password(app).await?;
    let mut tx = app.platform.db.begin().await?;
    let owner = organizations::owner(&mut tx).await?.ok_or(Error::NotFound(ObjectKind::Organization))?;
    let id = insert_owner_user(app, &mut tx, owner, &checked, password).await?;
    tx.commit().await?;
    logto_sync::wake(&app.identity);
    Ok(id)
}

async fn insert_owner_user(
    app: &App,
    tx: &mut Tx,
    owner: OrgId,
    user: &Checked,
    password: NewPassword,
) -> Result<UserId> {
    let (hash, theirs) = match password {
        NewPassword::Here(hash) => (hash, None),
        NewPassword::There(password) => (None, Some(password)),
    };
    let node = organizations::node(&mut *tx, owner).await?;
    let home = UserHome { requested_id: owner.to_string(), node };
    let granted = decide(&Caller::Worker, Action::Create, &home).granted()?;
    let mut new = NewUser {
        id: app.platform.fresh(),
        username: String::new(),
        email: user.email.clone(),
        email_verified: true,
        name: user.name.clone(),
        phone: None,
        role_ids: vec![strongest_role(&app.platform.catalogue)?],
        custom_data: None,
        password_hash: hash,
        password_generated_at: None,
        created_by: None,
        at: app.platform.now(),
    };
    for username in usernames(app, user) {
        new.username = username;
        match users::insert(tx, &granted, &new).await? {
            Inserted::Done => {
                let created = json!({"username": new.username, "email": user.email.as_str()});
                record(app, tx, (AuditAction::UserCreate, "user"), new.id.0, created).await?;
                // The operator who set the password knows it, so it is not mailed.
                let theirs = theirs.as_ref().map(|password| password.reveal().as_str());
                logto_sync::user_created(&app.identity, tx, new.id, theirs, None).await?;
                return Ok(new.id);
            }
            Inserted::UsernameTaken => {}
            Inserted::NoOrganization | Inserted::SuspendedOrganization => {
                return Err(Error::field("organization_id", "organization is not active"));
            }
        }
    }
    Err(Error::field("username", "already_exists"))
}

/// The requested name, or those that spec: users#username derives from the address.
fn usernames(app: &App, user: &Checked) -> Vec<String> {
    match &user.username {
        Some(username) => vec![username.clone()],
        None => validate::username_candidates(&user.email, app.platform.now()).collect(),
    }
}

/// Owner users hold the role with the most permissions: Super Admin in the built-in catalogue (spec:
/// authorization#owner-organization).
fn strongest_role(catalogue: &Catalogue) -> Result<String> {
    let roles = catalogue.user_roles().iter();
    let strength = |key: &str| catalogue.effective(OrgType::Owner, &[key.to_owned()]).set().len();
    roles
        .map(|role| role.key.clone())
        .max_by_key(|key| strength(key))
        .ok_or_else(|| Error::internal("the catalogue has no user role"))
}

async fn record(
    app: &App,
    tx: &mut Tx,
    (action, object_type): (AuditAction, &str),
    id: uuid::Uuid,
    after: serde_json::Value,
) -> Result<()> {
    let entry = AuditRecord {
        at: app.platform.now(),
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: None,
        action,
        object_type,
        object_id: Some(id),
        before: None,
        after: Some(after),
        request_id: None,
    };
    Ok(audit::record(tx, entry).await?)
}

/// A short-lived access token of the user with this address, for the operator's scripts.
///
/// # Errors
/// `user not found`; the user is suspended or deleted.
pub async fn issue_operator_token(app: &App, email: &str) -> Result<String> {
    let found = identities::by_email(&app.platform.db, email).await?;
    let (user, _) = found.ok_or(Error::NotFound(ObjectKind::User))?;
    Ok(auth::issue_operator_token(&app.identity, user.id).await?.token)
}

/// Sets a user's password where it is kept, for an operator (`bailiwick user set-password`). It needs no replacement,
/// and the user's sessions end.
///
/// # Errors
/// `user not found`; 400 where people sign in elsewhere; the password breaks a rule (`password`).
pub async fn set_password(app: &App, user: UserId, password: &str) -> Result<()> {
    passwords::check_mode(&app.identity)?;
    let mut fields = Fields::new();
    fields.check_secret("password", validate::password(password));
    fields.finish()?;
    let store_of_password = match &app.identity.logto {
        Some(logto) => PasswordLocation::AtTenant(there::account(&app.identity, logto, user).await?),
        None => PasswordLocation::Local(String::new()),
    };
    let prepared = passwords::prepare(&app.identity, password, &store_of_password).await?;
    let now = app.platform.now();
    let mut tx = app.platform.db.begin().await?;
    if !passwords::set_password(&mut tx, now, user, prepared.hash.as_deref(), Origin::Chosen, None).await? {
        return Err(Error::NotFound(ObjectKind::User));
    }
    audit::record(&mut tx, AuditRecord::of_operator(now, AuditAction::UserPassword, user)).await?;
    tx.commit().await?;
    prepared.into_result()
}

/// Whether there is nothing but the owner organization with its first user.
///
/// # Errors
/// The database's.
pub async fn is_untouched(app: &App) -> Result<bool> {
    Ok(demo::is_alone(&app.platform.db).await?)
}
