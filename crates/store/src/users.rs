//! Users. Their effective state comes from the row and, by join, from the organization. Lists are in [`mod@list`],
//! marks and removal in [`lifecycle`], numbers in [`stats`].

pub mod export;
pub mod lifecycle;
pub mod list;
pub mod lookup;
pub mod stats;

pub use lifecycle::OwnChange;
pub use list::{Filter, Order, Sort, list};

use crate::{
    StoreError, Tx,
    creator_row::CreatorRow,
    organizations::{add_users, hold, mark, object, snapshot},
    sql::{On, Q, assignments, names, placeholders, values},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{
    OrgId, Ts, User, UserId,
    fold::fold,
    org::{Creator, Mark, OrgRef, SyncState},
    validate::Email,
};
use bailiwick_policy::{Granted, Path, Standing};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Columns of [`ProfileRow`], of the user `u`.
macro_rules! profile {
    () => {
        "u.username, u.email, u.email_verified, u.name, u.phone, u.role_ids"
    };
}
pub(crate) use profile;

/// Columns of [`Row`]; `u` is the user, `o` their organization, `c` the organization of their creator.
macro_rules! columns {
    () => {
        concat!(
            "u.id, ",
            $crate::users::profile!(),
            ", ",
            $crate::creator_row::creator_columns!("u"),
            ", u.custom_data, u.created_at, u.updated_at, u.latest_login_at, u.suspended_at, \
             u.deleted_at, o.id AS organization_id, o.type AS organization_type, o.name AS organization_name, o.p2, \
             o.p3, o.eff_suspended_at, o.eff_suspended_by, o.eff_deleted_at, o.eff_deleted_by"
        )
    };
}
pub(crate) use columns;

/// The columns that users may change of themselves, each with its value: with [`kept_account`] the one list of what a
/// creation, a change and the bulk load write.
macro_rules! kept_contact {
    ($each:ident) => {
        $each! {
            Text "email" = |u| u.email.as_str();
            Text "email_key" = |u| Email::key_of(u.email.as_str());
            Bool "email_verified" = |u| u.email_verified;
            Text "name" = |u| &u.name;
            Text "name_key" = |u| fold(&u.name);
            TextOrNull "phone" = |u| u.phone.as_deref();
            Text "search_key" = |u| $crate::users::search_key(&u.name, u.email.as_str());
        }
    };
}
pub(crate) use kept_contact;

/// The columns that only others may change.
macro_rules! kept_account {
    ($each:ident) => {
        $each! {
            Text "username" = |u| &u.username;
            Text "username_key" = |u| fold(&u.username);
            Json "role_ids" = |u| Value::from(u.role_ids.clone());
            Json "custom_data" = |u| u.custom_data.clone().map(Value::Object);
        }
    };
}
pub(crate) use kept_account;

macro_rules! get {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM users u JOIN organizations o ON o.id = u.organization_id \
             LEFT JOIN organizations c ON c.id = u.creator_org_id WHERE u.id = ?"
        )
    };
}

const GET: &str = get!();
const LOCK: &str = concat!(get!(), " [[FOR NO KEY UPDATE OF u||]]");
const TAKEN: &str = "SELECT username_key, CASE WHEN deleted_at IS NULL THEN email_key END AS email_key, \
    CASE WHEN deleted_at IS NULL THEN phone END AS phone FROM users \
    WHERE (username_key = ? OR email_key = ? OR phone = ?) AND id <> ?";
const INSERT: &str = concat!(
    "INSERT INTO users (",
    kept_contact!(names),
    kept_account!(names),
    "id, organization_id, p2, p3, password_hash, password_generated_at, created_by, creator_user_id, creator_org_id, \
     creator_key, created_at, updated_at) VALUES (",
    kept_contact!(placeholders),
    kept_account!(placeholders),
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (username_key) DO NOTHING"
);
const UPDATE: &str = concat!(
    "UPDATE users SET ",
    kept_contact!(assignments),
    kept_account!(assignments),
    "updated_at = ? WHERE id = ?"
);
const MOVE: &str = "UPDATE users SET organization_id = ?, p2 = ?, p3 = ? WHERE id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, LOCK, TAKEN, INSERT, UPDATE, MOVE];

/// What people write of a user.
#[derive(sqlx_macros::FromRow)]
pub(crate) struct ProfileRow {
    pub(crate) username: String,
    pub(crate) email: String,
    pub(crate) email_verified: bool,
    pub(crate) name: String,
    pub(crate) phone: Option<String>,
    role_ids: Value,
}

impl ProfileRow {
    /// Takes the roles, those of the user with this id.
    pub(crate) fn take_role_ids(&mut self, user: Uuid) -> Result<Vec<String>, StoreError> {
        serde_json::from_value(self.role_ids.take())
            .map_err(|e| StoreError::Corrupt(format!("role_ids of user {user}: {e}")))
    }
}

#[derive(sqlx_macros::FromRow)]
pub(crate) struct Row {
    id: Uuid,
    #[sqlx(flatten)]
    profile: ProfileRow,
    #[sqlx(flatten)]
    creator: CreatorRow,
    custom_data: Option<Value>,
    created_at: TsCodec,
    updated_at: TsCodec,
    latest_login_at: Option<TsCodec>,
    suspended_at: Option<TsCodec>,
    deleted_at: Option<TsCodec>,
    organization_id: Uuid,
    organization_type: String,
    organization_name: String,
    p2: Uuid,
    p3: Uuid,
    eff_suspended_at: Option<TsCodec>,
    eff_suspended_by: Option<Uuid>,
    eff_deleted_at: Option<TsCodec>,
    eff_deleted_by: Option<Uuid>,
}

/// A user together with the place that decisions need.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub user: User,
    /// The place of the user's organization in the tree.
    pub path: Path,
    /// The user's state, and the part of it that comes from above.
    pub standing: Standing,
}

impl Row {
    fn into_placed(self) -> Result<Placed, StoreError> {
        let organization = OrgRef {
            id: OrgId(self.organization_id),
            name: self.organization_name,
            org_type: parse_type(&self.organization_type)?,
        };
        let inherited = |at, by| mark(at, by).inherited_from(organization.id);
        let suspended_above = inherited(self.eff_suspended_at, self.eff_suspended_by);
        let deleted_above = inherited(self.eff_deleted_at, self.eff_deleted_by);
        let mut profile = self.profile;
        let user = User {
            id: UserId(self.id),
            role_ids: profile.take_role_ids(self.id)?,
            username: profile.username,
            email: profile.email,
            email_verified: profile.email_verified,
            name: profile.name,
            phone: profile.phone,
            custom_data: self.custom_data.map(object).transpose()?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            latest_login_at: self.latest_login_at.map(|t| t.0),
            created_by: self.creator.creator([self.organization_id, self.p3, self.p2])?,
            suspended: Mark::effective(self.suspended_at.map(|t| t.0), suspended_above),
            deleted: Mark::effective(self.deleted_at.map(|t| t.0), deleted_above),
            mirrored: SyncState::default(),
            organization,
        };
        Ok(Placed {
            path: Path { id: user.organization.id, p2: OrgId(self.p2), p3: OrgId(self.p3) },
            standing: Standing {
                suspended: user.suspended.is_set(),
                suspended_above: suspended_above.is_set(),
                deleted: user.deleted.is_set(),
                deleted_above: deleted_above.is_set(),
            },
            user,
        })
    }
}

/// The user, deleted or not.
pub async fn get(on: impl Into<On<'_>>, id: UserId) -> Result<Option<Placed>, StoreError> {
    let row: Option<Row> = Q::new(GET).bind(id).optional(on).await?;
    row.map(Row::into_placed).transpose()
}

/// The user, deleted or not, with the row locked for a change.
pub async fn lock(tx: &mut Tx, id: UserId) -> Result<Option<Placed>, StoreError> {
    let mut row: Option<Row> = Q::new(LOCK).bind(id).optional(&mut *tx).await?;
    if row.is_none() && tx.is_postgres() {
        // As in `identities`: the row moved while this transaction waited, and is locked by now.
        row = Q::new(LOCK).bind(id).optional(tx).await?;
    }
    row.map(Row::into_placed).transpose()
}

/// Which of a user's unique values belong to another user (spec: users#phone, users#email-uniqueness).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// User names count even when deleted.
    pub username: bool,
    /// Among users who are not individually deleted.
    pub email: bool,
    /// Among users who are not individually deleted.
    pub phone: bool,
}

#[derive(sqlx_macros::FromRow)]
struct TakenRow {
    username_key: String,
    email_key: Option<String>,
    phone: Option<String>,
}

/// Looks for other users than `except` with one of these values; an absent value is not looked for.
pub async fn taken(
    on: impl Into<On<'_>>,
    except: UserId,
    username: Option<&str>,
    email: Option<&Email>,
    phone: Option<&str>,
) -> Result<Taken, StoreError> {
    let username_key = username.map(fold);
    let email_key = email.map(|e| e.key().to_owned());
    let rows: Vec<TakenRow> = Q::new(TAKEN)
        .bind(username_key.clone())
        .bind(email_key.clone())
        .bind(phone)
        .bind(except)
        .all(on)
        .await?;
    Ok(Taken {
        username: username_key.is_some_and(|k| rows.iter().any(|r| r.username_key == k)),
        email: email_key.is_some() && rows.iter().any(|r| r.email_key.is_some() && r.email_key == email_key),
        phone: phone.is_some() && rows.iter().any(|r| r.phone.is_some() && r.phone.as_deref() == phone),
    })
}

/// Those of the user names that are taken, folded.
pub async fn taken_usernames(on: impl Into<On<'_>>, names: &[String]) -> Result<Vec<String>, StoreError> {
    let mut q = Q::new("SELECT username_key FROM users WHERE username_key IN (");
    q.list(names.iter().map(|n| fold(n))).push(")");
    let rows: Vec<(String,)> = q.all(on).await?;
    Ok(rows.into_iter().map(|r| r.0).collect())
}

/// A user to create.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Fresh id.
    pub id: UserId,
    /// User name.
    pub username: String,
    pub email: Email,
    /// Whether the address is confirmed to be theirs.
    pub email_verified: bool,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Catalogue keys.
    pub role_ids: Vec<String>,
    /// Client keys.
    pub custom_data: Option<Map<String, Value>>,
    /// PHC string; none where passwords are stored elsewhere.
    pub password_hash: Option<String>,
    /// Set when the password was generated and must be replaced.
    pub password_generated_at: Option<Ts>,
    /// Creation snapshot.
    pub created_by: Option<Creator>,
    /// Now.
    pub at: Ts,
}

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    Done,
    /// The user name is taken; nothing is written and the transaction continues.
    UsernameTaken,
    /// The organization was removed or deleted meanwhile.
    NoOrganization,
    /// The organization is suspended by now.
    SuspendedOrganization,
}

/// Creates a user in the granted organization, which is locked, and counts them.
pub async fn insert(
    tx: &mut Tx,
    organization: &Granted<OrgId>,
    new: &NewUser,
) -> Result<Inserted, StoreError> {
    let path = match hold(tx, organization.id()).await? {
        Some(locked) if locked.deleted.is_set() => return Ok(Inserted::NoOrganization),
        Some(locked) if locked.suspended.is_set() => return Ok(Inserted::SuspendedOrganization),
        Some(locked) => locked.path,
        None => return Ok(Inserted::NoOrganization),
    };
    let creator = new.created_by.as_ref();
    tx.people_changed();
    let contact: fn(&NewUser) -> _ = kept_contact!(values);
    let account: fn(&NewUser) -> _ = kept_account!(values);
    let written = Q::new(INSERT)
        .bind_all(contact(new))
        .bind_all(account(new))
        .bind(new.id)
        .bind(path.id)
        .bind(path.p2)
        .bind(path.p3)
        .bind(new.password_hash.clone())
        .bind(new.password_generated_at)
        .bind(snapshot(creator)?)
        .bind(creator.and_then(|c| c.user_id))
        .bind(creator.and_then(|c| c.organization_id))
        .bind(creator.map(|c| fold(&c.name)))
        .bind(new.at)
        .bind(new.at)
        .run(tx)
        .await?;
    if written == 0 {
        return Ok(Inserted::UsernameTaken);
    }
    add_users(tx, path.id, 1).await?;
    Ok(Inserted::Done)
}

/// The result of a PUT.
#[derive(Clone, Debug)]
pub struct Change {
    /// User name.
    pub username: String,
    pub email: Email,
    /// False once the address has changed.
    pub email_verified: bool,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Catalogue keys.
    pub role_ids: Vec<String>,
    /// Client keys.
    pub custom_data: Option<Map<String, Value>>,
    /// Now.
    pub at: Ts,
}

/// Writes the result of a PUT; roles are replaced with everything else.
pub async fn update(tx: &mut Tx, target: &Granted<UserId>, change: &Change) -> Result<(), StoreError> {
    tx.people_changed();
    let contact: fn(&Change) -> _ = kept_contact!(values);
    let account: fn(&Change) -> _ = kept_account!(values);
    let q = Q::new(UPDATE).bind_all(contact(change)).bind_all(account(change));
    q.bind(change.at).bind(target.id()).run(tx).await?;
    Ok(())
}

/// Moves a user from their present organization to the granted one, which is locked; both counters follow.
pub async fn relocate(
    tx: &mut Tx,
    target: &Granted<UserId>,
    from: OrgId,
    organization: &Granted<OrgId>,
) -> Result<Inserted, StoreError> {
    let path = match hold(tx, organization.id()).await? {
        Some(locked) if locked.deleted.is_set() => return Ok(Inserted::NoOrganization),
        Some(locked) if locked.suspended.is_set() => return Ok(Inserted::SuspendedOrganization),
        Some(locked) => locked.path,
        None => return Ok(Inserted::NoOrganization),
    };
    tx.people_changed();
    Q::new(MOVE).bind(path.id).bind(path.p2).bind(path.p3).bind(target.id()).run(tx).await?;
    // In one order for all, so that two moves in opposite directions do not deadlock.
    let mut counters = [(from, -1), (path.id, 1)];
    counters.sort();
    for (id, delta) in counters {
        add_users(tx, id, delta).await?;
    }
    Ok(Inserted::Done)
}

/// The texts that `search` compares (spec: users#operations): name or e-mail.
pub(crate) fn search_key(name: &str, email: &str) -> String {
    let (shown, key) = (fold(email), Email::key_of(email));
    // Both forms of a domain are found.
    let more = if key == shown { String::new() } else { format!("\u{1f}{key}") };
    format!("{}\u{1f}{shown}{more}", fold(name))
}
