//! The data of a user that authentication reads: one indexed read gives the user, the organization and the effective
//! state.

pub mod account_links;

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
    tree::parse_type,
    users::ProfileRow,
};
use bailiwick_domain::{OrgId, Ts, UserId, fold::fold, org::OrgRef, validate::Email};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A user as authentication reads them. Nothing is cached: each request reads the user again.
#[derive(Clone, Debug, PartialEq)]
pub struct Identified {
    pub id: UserId,
    /// User name.
    pub username: String,
    /// E-mail as given.
    pub email: String,
    /// Whether the e-mail is confirmed.
    pub email_verified: bool,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Role keys as stored, known to the catalogue or not.
    pub role_ids: Vec<String>,
    /// The user's organization.
    pub organization: OrgRef,
    /// Their own mark or an inherited one: whether the user may sign in.
    pub standing: Standing,
}

/// Effective state of a user, split by its origin: each has its own answer (spec: authentication#bearer-errors).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Suspended individually.
    pub is_suspended: bool,
    /// The user's organization or one above it is suspended.
    pub is_organization_suspended: bool,
    /// Deleted individually.
    pub is_deleted: bool,
    /// The user's organization or one above it is deleted.
    pub is_organization_deleted: bool,
}

impl Standing {
    /// The reason of a suspension; the individual one comes first.
    pub const fn suspension(self) -> Option<&'static str> {
        if self.is_suspended {
            Some("user suspended by administrator")
        } else if self.is_organization_suspended {
            Some("organization suspended")
        } else {
            None
        }
    }

    /// Deleted, individually or with an organization.
    pub const fn is_gone(self) -> bool {
        self.is_deleted || self.is_organization_deleted
    }

    /// Neither suspended nor deleted.
    pub const fn is_enabled(self) -> bool {
        self.suspension().is_none() && !self.is_gone()
    }
}

/// The stored password of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct PasswordRecord {
    /// Argon2id in PHC form; none = cannot sign in with a password.
    pub hash: Option<String>,
    /// Set while a generated password must be replaced (spec: openid-provider#endpoints).
    pub generated_at: Option<Ts>,
}

/// The columns of [`UserRow`]; `u` is the user, `o` their organization.
macro_rules! user_columns {
    () => {
        concat!(
            "u.id AS user_id, ",
            $crate::users::profile!(),
            ", u.suspended_at, u.deleted_at, o.id AS org_id, o.type AS org_type, o.name AS org_name, \
             o.eff_suspended_at, o.eff_deleted_at"
        )
    };
}
pub(crate) use user_columns;

#[derive(FromRow)]
pub(crate) struct UserRow {
    user_id: Uuid,
    #[sqlx(flatten)]
    profile: ProfileRow,
    suspended_at: Option<TsCodec>,
    deleted_at: Option<TsCodec>,
    org_id: Uuid,
    org_type: String,
    org_name: String,
    eff_suspended_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
}

impl UserRow {
    pub(crate) fn into_identified(self) -> Result<Identified, StoreError> {
        let org_type = parse_type(&self.org_type)?;
        let mut profile = self.profile;
        Ok(Identified {
            id: UserId(self.user_id),
            role_ids: profile.take_role_ids(self.user_id)?,
            username: profile.username,
            email: profile.email,
            email_verified: profile.email_verified,
            name: profile.name,
            phone: profile.phone,
            organization: OrgRef { id: OrgId(self.org_id), name: self.org_name, org_type },
            standing: Standing {
                is_suspended: self.suspended_at.is_some(),
                is_organization_suspended: self.eff_suspended_at.is_some(),
                is_deleted: self.deleted_at.is_some(),
                is_organization_deleted: self.eff_deleted_at.is_some(),
            },
        })
    }
}

#[derive(FromRow)]
struct LoginRow {
    #[sqlx(flatten)]
    user: UserRow,
    password_hash: Option<String>,
    password_generated_at: Option<TsCodec>,
}

const GET: &str = concat!(
    "SELECT ",
    user_columns!(),
    " FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ?"
);

// A sign-in writes the user, so it locks the row as a writer at once: two that share the lock first would wait for each
// other.
const GET_FOR_LOGIN: &str = concat!(
    "SELECT ",
    user_columns!(),
    " FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ? \
     [[FOR NO KEY UPDATE OF u FOR SHARE OF o||]]"
);

const GET_STEADY: &str = concat!(
    "SELECT ",
    user_columns!(),
    " FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ? [[FOR SHARE OF u, o||]]"
);

const BY_EMAIL: &str = concat!(
    "SELECT ",
    user_columns!(),
    ", u.password_hash, u.password_generated_at FROM users u JOIN organizations o ON o.id = u.organization_id \
     WHERE u.email_key = ? AND u.deleted_at IS NULL"
);

const BY_USERNAME: &str = concat!(
    "SELECT ",
    user_columns!(),
    ", u.password_hash, u.password_generated_at FROM users u JOIN organizations o ON o.id = u.organization_id \
     WHERE u.username_key = ?"
);

const PASSWORD: &str = "SELECT password_hash, password_generated_at FROM users WHERE id = ?";

const SET_PASSWORD: &str = "UPDATE users SET password_hash = ?, password_generated_at = ? WHERE id = ?";

const STAMP_LOGIN: &str = "UPDATE users SET latest_login_at = ? WHERE id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    GET,
    GET_FOR_LOGIN,
    GET_STEADY,
    BY_EMAIL,
    BY_USERNAME,
    PASSWORD,
    SET_PASSWORD,
    STAMP_LOGIN
];

async fn user(q: Q, on: impl Into<On<'_>>) -> Result<Option<Identified>, StoreError> {
    q.optional::<UserRow>(on).await?.map(UserRow::into_identified).transpose()
}

/// The user by id, in whatever state.
pub async fn get(on: impl Into<On<'_>>, id: UserId) -> Result<Option<Identified>, StoreError> {
    user(Q::new(GET).bind(id), on).await
}

/// The user by id, locked until the transaction ends: no other transaction suspends, deletes or moves them meanwhile.
pub async fn get_steady(tx: &mut Tx, id: UserId) -> Result<Option<Identified>, StoreError> {
    locked_user(GET_STEADY, tx, id).await
}

/// As [`get_steady`], for a transaction that also writes the user's row.
pub async fn get_for_login(tx: &mut Tx, id: UserId) -> Result<Option<Identified>, StoreError> {
    locked_user(GET_FOR_LOGIN, tx, id).await
}

/// PostgreSQL drops a row it has waited for when that row has moved to another organization, because the statement
/// still joins the organization read before. The row is locked by then, so the second read is final.
async fn locked_user(
    statement: &'static str,
    tx: &mut Tx,
    id: UserId,
) -> Result<Option<Identified>, StoreError> {
    let identified = user(Q::new(statement).bind(id), &mut *tx).await?;
    if identified.is_some() || !tx.is_postgres() {
        return Ok(identified);
    }
    user(Q::new(statement).bind(id), tx).await
}

async fn login(q: Q, on: impl Into<On<'_>>) -> Result<Option<(Identified, PasswordRecord)>, StoreError> {
    let Some(row) = q.optional::<LoginRow>(on).await? else { return Ok(None) };
    let password =
        PasswordRecord { hash: row.password_hash, generated_at: row.password_generated_at.map(Ts::from) };
    Ok(Some((row.user.into_identified()?, password)))
}

/// By e-mail, ignoring case, among users who are not individually deleted (the address is unique among these).
pub async fn by_email(
    on: impl Into<On<'_>>,
    email: &str,
) -> Result<Option<(Identified, PasswordRecord)>, StoreError> {
    login(Q::new(BY_EMAIL).bind(Email::key_of(email)), on).await
}

/// By user name, ignoring case.
pub async fn by_username(
    on: impl Into<On<'_>>,
    username: &str,
) -> Result<Option<(Identified, PasswordRecord)>, StoreError> {
    login(Q::new(BY_USERNAME).bind(fold(username.trim())), on).await
}

/// The user's password record; none when there is no such user.
pub async fn password(on: impl Into<On<'_>>, id: UserId) -> Result<Option<PasswordRecord>, StoreError> {
    let row: Option<(Option<String>, Option<TsCodec>)> = Q::new(PASSWORD).bind(id).optional(on).await?;
    Ok(row.map(|(hash, generated_at)| PasswordRecord { hash, generated_at: generated_at.map(Ts::from) }))
}

/// Replaces the user's password. `generated_at` marks one that must be replaced at the first sign-in.
pub async fn set_password(
    tx: &mut Tx,
    id: UserId,
    hash: &str,
    generated_at: Option<Ts>,
) -> Result<u64, StoreError> {
    Q::new(SET_PASSWORD).bind(hash).bind(generated_at).bind(id).run(tx).await
}

/// Notes a sign-in; `updated_at` stays (spec: authentication#exchange).
pub async fn stamp_login(tx: &mut Tx, id: UserId, at: Ts) -> Result<(), StoreError> {
    tx.logins_changed();
    Q::new(STAMP_LOGIN).bind(at).bind(id).run(tx).await.map(|_| ())
}
