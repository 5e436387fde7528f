//! Proof of identity by mail: the addresses of users, and the links that were sent to them (spec:
//! openid-provider#endpoints, account#change-info).

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{Ts, UserId, validate::Email};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// The purpose of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Choosing a new password.
    Password,
    /// Confirming an address.
    Address,
}

impl Purpose {
    const fn as_str(self) -> &'static str {
        match self {
            Purpose::Password => "password",
            Purpose::Address => "address",
        }
    }
}

/// A link that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Digest of its token.
    pub token_hash: Vec<u8>,
    pub purpose: Purpose,
    /// The user of the link.
    pub user_id: UserId,
    /// The address it was sent to.
    pub address: String,
    /// Creation.
    pub created_at: Ts,
    /// From then on the link no longer exists.
    pub expires_at: Ts,
}

#[derive(FromRow)]
struct LinkRow {
    user_id: Uuid,
    address: String,
    created_at: TsCodec,
    expires_at: TsCodec,
}

/// The addresses of a user.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Addresses {
    /// The present one.
    pub email: String,
    /// Whether the address is confirmed to be theirs.
    pub email_verified: bool,
    /// The previous address, while the present one is the user's own unconfirmed choice.
    pub previous_email: Option<String>,
    /// Folded address that the user's generated password was mailed to.
    pub password_mailed_to: Option<String>,
}

impl Addresses {
    /// The address for links to set a new password: never an address that only a stolen session may have entered.
    pub fn for_recovery(&self) -> &str {
        self.previous_email.as_deref().filter(|_| !self.email_verified).unwrap_or(&self.email)
    }
}

const ADDRESSES: &str =
    "SELECT email, email_verified, previous_email, password_mailed_to FROM users WHERE id = ?";
const SET_PREVIOUS: &str = "UPDATE users SET previous_email = ?, previous_email_key = ? WHERE id = ?";
const VERIFY: &str =
    "UPDATE users SET email_verified = ?, previous_email = NULL, previous_email_key = NULL WHERE id = ?";
const NOTE_MAILED: &str = "UPDATE users SET password_mailed_to = ? WHERE id = ?";
const FIND: &str = "SELECT id FROM users \
    WHERE deleted_at IS NULL AND (email_key = ? OR username_key = ? OR previous_email_key = ?) \
    ORDER BY CASE WHEN email_key = ? THEN 0 WHEN username_key = ? THEN 1 ELSE 2 END, id LIMIT 1";
const INSERT: &str = "INSERT INTO mail_links (token_hash, purpose, user_id, address, created_at, \
    expires_at) VALUES (?, ?, ?, ?, ?, ?)";
const GET: &str = "SELECT user_id, address, created_at, expires_at FROM mail_links \
    WHERE token_hash = ? AND purpose = ? AND expires_at > ? AND ended_at IS NULL";
const TAKE: &str = "UPDATE mail_links SET ended_at = ? WHERE token_hash = ? AND purpose = ? AND expires_at > ? AND ended_at IS NULL";
const END_OF_USER: &str =
    "UPDATE mail_links SET ended_at = ? WHERE user_id = ? AND purpose = ? AND ended_at IS NULL";
const COUNT_SINCE: &str = "SELECT CAST(count(*) AS BIGINT), min(created_at) FROM mail_links \
    WHERE user_id = ? AND purpose = ? AND created_at > ?";
const PURGE: &str = "DELETE FROM mail_links WHERE expires_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    ADDRESSES,
    SET_PREVIOUS,
    VERIFY,
    NOTE_MAILED,
    FIND,
    INSERT,
    GET,
    TAKE,
    END_OF_USER,
    COUNT_SINCE,
    PURGE
];

/// The addresses of a user; none when there is no such user.
pub async fn addresses(on: impl Into<On<'_>>, id: UserId) -> Result<Option<Addresses>, StoreError> {
    Q::new(ADDRESSES).bind(id).optional(on).await
}

/// Stores the address before an unconfirmed one, or removes it.
pub async fn set_previous(tx: &mut Tx, id: UserId, email: Option<&str>) -> Result<(), StoreError> {
    Q::new(SET_PREVIOUS).bind(email).bind(email.map(Email::key_of)).bind(id).run(tx).await.map(|_| ())
}

/// Marks the present address as confirmed.
pub async fn verify(tx: &mut Tx, id: UserId) -> Result<(), StoreError> {
    Q::new(VERIFY).bind(true).bind(id).run(tx).await.map(|_| ())
}

/// Notes where the user's generated password was mailed, or that it is no longer the current password.
pub async fn note_mailed(tx: &mut Tx, id: UserId, address: Option<&str>) -> Result<(), StoreError> {
    Q::new(NOTE_MAILED).bind(address.map(Email::key_of)).bind(id).run(tx).await.map(|_| ())
}

/// The user with this name: by address, by user name, or by the address before an unconfirmed one. Individually deleted
/// users are left out.
pub async fn find(on: impl Into<On<'_>>, name: &str) -> Result<Option<UserId>, StoreError> {
    let key = Email::key_of(name);
    let mut q = Q::new(FIND);
    for _ in 0..5 {
        q = q.bind(key.clone());
    }
    let row: Option<(Uuid,)> = q.optional(on).await?;
    Ok(row.map(|(id,)| UserId(id)))
}

/// A new link.
pub async fn insert(tx: &mut Tx, link: &Link) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(link.token_hash.clone())
        .bind(link.purpose.as_str())
        .bind(link.user_id)
        .bind(link.address.clone())
        .bind(link.created_at)
        .bind(link.expires_at)
        .run(tx)
        .await
        .map(|_| ())
}

/// A link that can still be used.
pub async fn get(
    on: impl Into<On<'_>>,
    token_hash: &[u8],
    purpose: Purpose,
    now: Ts,
) -> Result<Option<Link>, StoreError> {
    let q = Q::new(GET).bind(token_hash).bind(purpose.as_str()).bind(now);
    Ok(q.optional::<LinkRow>(on).await?.map(|row| Link {
        token_hash: token_hash.to_vec(),
        purpose,
        user_id: UserId(row.user_id),
        address: row.address,
        created_at: row.created_at.0,
        expires_at: row.expires_at.0,
    }))
}

/// Uses a link up. False when it was used before, or has expired.
pub async fn use_up(tx: &mut Tx, link: &Link, now: Ts) -> Result<bool, StoreError> {
    let q = Q::new(TAKE).bind(now).bind(link.token_hash.clone()).bind(link.purpose.as_str()).bind(now);
    Ok(q.run(tx).await? > 0)
}

/// Ends the links of a user.
pub async fn end_of_user(tx: &mut Tx, id: UserId, purpose: Purpose, now: Ts) -> Result<u64, StoreError> {
    Q::new(END_OF_USER).bind(now).bind(id).bind(purpose.as_str()).run(tx).await
}

/// How many links were made for a user after `since`, used ones too, and when the first of them was.
pub async fn count_since(
    tx: &mut Tx,
    id: UserId,
    purpose: Purpose,
    since: Ts,
) -> Result<(u64, Option<Ts>), StoreError> {
    let (count, first): (i64, Option<TsCodec>) =
        Q::new(COUNT_SINCE).bind(id).bind(purpose.as_str()).bind(since).one(tx).await?;
    Ok((u64::try_from(count).unwrap_or(0), first.map(Ts::from)))
}

/// Removes links that expired before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(PURGE).bind(before).run(tx).await
}
