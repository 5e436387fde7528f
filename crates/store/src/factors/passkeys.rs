//! Passkeys (Web Authentication). The public key and the state of an authenticator are kept as the library that checks
//! them encodes them.

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A passkey of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    pub id: Uuid,
    pub user_id: UserId,
    /// The name that the user has given it.
    pub name: String,
    /// The id that its authenticator has given it.
    pub credential_id: Vec<u8>,
    /// The public key and what never changes.
    pub public_key: Vec<u8>,
    /// What a use may change: the counter, whether it is backed up.
    pub state: Vec<u8>,
    /// When it was added.
    pub created_at: Ts,
    /// Its last use.
    pub last_used_at: Option<Ts>,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    user_id: Uuid,
    name: String,
    credential_id: Vec<u8>,
    public_key: Vec<u8>,
    state: Vec<u8>,
    created_at: TsCodec,
    last_used_at: Option<TsCodec>,
}

impl From<Row> for Passkey {
    fn from(row: Row) -> Passkey {
        Passkey {
            id: row.id,
            user_id: UserId(row.user_id),
            name: row.name,
            credential_id: row.credential_id,
            public_key: row.public_key,
            state: row.state,
            created_at: row.created_at.0,
            last_used_at: row.last_used_at.map(Ts::from),
        }
    }
}

macro_rules! passkey_columns {
    () => {
        "id, user_id, name, credential_id, public_key, state, created_at, last_used_at"
    };
}

const OF_USER: &str =
    concat!("SELECT ", passkey_columns!(), " FROM passkeys WHERE user_id = ? ORDER BY created_at, id");

const BY_CREDENTIAL: &str = concat!("SELECT ", passkey_columns!(), " FROM passkeys WHERE credential_id = ?");

const INSERT: &str = "INSERT INTO passkeys (id, user_id, name, credential_id, public_key, state, created_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (credential_id) DO NOTHING";

const RENAME: &str = "UPDATE passkeys SET name = ? WHERE id = ? AND user_id = ?";

const USE: &str = "UPDATE passkeys SET state = ?, last_used_at = ? WHERE id = ?";

const REMOVE: &str = "DELETE FROM passkeys WHERE id = ? AND user_id = ?";

const FORGET: &str = "DELETE FROM passkeys WHERE user_id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![OF_USER, BY_CREDENTIAL, INSERT, RENAME, USE, REMOVE, FORGET];

/// The passkeys of a user, the oldest first.
pub async fn of_user(on: impl Into<On<'_>>, user: UserId) -> Result<Vec<Passkey>, StoreError> {
    let rows: Vec<Row> = Q::new(OF_USER).bind(user).all(on).await?;
    Ok(rows.into_iter().map(Passkey::from).collect())
}

/// The passkey with this id of its authenticator.
pub async fn by_credential(
    on: impl Into<On<'_>>,
    credential_id: &[u8],
) -> Result<Option<Passkey>, StoreError> {
    Ok(Q::new(BY_CREDENTIAL).bind(credential_id).optional::<Row>(on).await?.map(Passkey::from))
}

/// A new passkey. False when its authenticator's id is taken.
pub async fn insert(tx: &mut Tx, passkey: &Passkey) -> Result<bool, StoreError> {
    let q = Q::new(INSERT)
        .bind(passkey.id)
        .bind(passkey.user_id)
        .bind(&passkey.name)
        .bind(passkey.credential_id.clone())
        .bind(passkey.public_key.clone())
        .bind(passkey.state.clone())
        .bind(passkey.created_at);
    Ok(q.run(tx).await? > 0)
}

/// Renames it. False when the user has no such passkey.
pub async fn rename(tx: &mut Tx, user: UserId, id: Uuid, name: &str) -> Result<bool, StoreError> {
    Ok(Q::new(RENAME).bind(name).bind(id).bind(user).run(tx).await? > 0)
}

/// Notes a use and what it has changed.
pub async fn note_use(tx: &mut Tx, id: Uuid, state: &[u8], at: Ts) -> Result<(), StoreError> {
    Q::new(USE).bind(state).bind(at).bind(id).run(tx).await.map(|_| ())
}

/// Removes it. False when the user has no such passkey.
pub async fn remove(tx: &mut Tx, user: UserId, id: Uuid) -> Result<bool, StoreError> {
    Ok(Q::new(REMOVE).bind(id).bind(user).run(tx).await? > 0)
}

/// Removes all passkeys of a user.
pub async fn forget(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    Q::new(FORGET).bind(user).run(tx).await.map(|_| ())
}
