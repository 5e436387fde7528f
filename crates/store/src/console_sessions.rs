//! Browsers that are signed in to the console: each names a session chain and lives as long as that does.

use crate::{Db, StoreError, Tx, sql::Q, time::TsCodec};
use bailiwick_domain::{ChainId, ImpersonationId, LoginId, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A signed-in browser with the data of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The chain it goes on with.
    pub chain: ChainId,
    /// Whose chain that is.
    pub user: UserId,
    /// The browser login the chain was exchanged from.
    pub login: Option<LoginId>,
    /// `jti` of the chain's current refresh token.
    pub refresh_id: Uuid,
    /// Its `iat`.
    pub refresh_issued_at: Ts,
    /// Its `exp`.
    pub expires_at: Ts,
    /// The impersonation in which requests are made.
    pub impersonation: Option<ImpersonationId>,
    /// Whether an impersonation of the user's own has no end yet, in this browser or elsewhere.
    pub impersonates: bool,
}

#[derive(FromRow)]
struct Row {
    chain_id: Uuid,
    user_id: Uuid,
    login_id: Option<Uuid>,
    refresh_id: Uuid,
    refresh_issued_at: TsCodec,
    expires_at: TsCodec,
    impersonation_id: Option<Uuid>,
    impersonates: i64,
}

pub(crate) const INSERT: &str = "INSERT INTO console_sessions (token_hash, chain_id, impersonation_id, created_at) \
     VALUES (?, ?, NULL, ?)";
pub(crate) const GET: &str = "SELECT s.chain_id, c.user_id, c.login_id, c.refresh_id, c.refresh_issued_at, \
     c.expires_at, s.impersonation_id, (SELECT CAST(COUNT(*) AS BIGINT) FROM impersonation_sessions i \
     WHERE i.impersonator_user_id = c.user_id AND i.ended_at IS NULL) AS impersonates \
     FROM console_sessions s JOIN session_chains c ON c.id = s.chain_id \
     WHERE s.token_hash = ? AND c.revoked_at IS NULL AND c.expires_at > ?";
pub(crate) const ACT_IN: &str = "UPDATE console_sessions SET impersonation_id = ? WHERE token_hash = ?";
pub(crate) const REMOVE: &str = "DELETE FROM console_sessions WHERE token_hash = ?";
pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![INSERT, GET, ACT_IN, REMOVE];

/// Signs a browser in.
pub async fn insert(tx: &mut Tx, token_hash: &[u8], chain: ChainId, at: Ts) -> Result<(), StoreError> {
    Q::new(INSERT).bind(token_hash).bind(chain).bind(at).run(tx).await.map(|_| ())
}

/// The signed-in browser with this cookie, if its chain is alive.
pub async fn get(db: &Db, token_hash: &[u8], now: Ts) -> Result<Option<ConsoleSession>, StoreError> {
    let row: Option<Row> = Q::new(GET).bind(token_hash).bind(now).optional(db).await?;
    Ok(row.map(|row| ConsoleSession {
        chain: ChainId(row.chain_id),
        user: UserId(row.user_id),
        login: row.login_id.map(LoginId),
        refresh_id: row.refresh_id,
        refresh_issued_at: row.refresh_issued_at.0,
        expires_at: row.expires_at.0,
        impersonation: row.impersonation_id.map(ImpersonationId),
        impersonates: row.impersonates > 0,
    }))
}

/// From now on its requests are made in this impersonation, or in none.
pub async fn act_in(
    tx: &mut Tx,
    token_hash: &[u8],
    impersonation: Option<ImpersonationId>,
) -> Result<(), StoreError> {
    Q::new(ACT_IN).bind(impersonation).bind(token_hash).run(tx).await.map(|_| ())
}

/// Signs a browser out.
pub async fn remove(tx: &mut Tx, token_hash: &[u8]) -> Result<(), StoreError> {
    Q::new(REMOVE).bind(token_hash).run(tx).await.map(|_| ())
}
