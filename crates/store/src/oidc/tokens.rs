//! Access and refresh tokens.

use super::grants::{Grant, GrantRow, grant_columns};
use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::Ts;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderTokenKind {
    /// Opens userinfo and is exchanged for a session.
    Access,
    /// Exchanged for the next pair of tokens.
    Refresh,
}

impl ProviderTokenKind {
    /// As stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            ProviderTokenKind::Access => "access",
            ProviderTokenKind::Refresh => "refresh",
        }
    }
}

/// A token with its grant.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub grant: Grant,
    pub kind: ProviderTokenKind,
    /// Scopes, separated by spaces.
    pub scope: String,
    /// Issue.
    pub created_at: Ts,
    /// End of its life.
    pub expires_at: Ts,
    /// When a refresh token was replaced by the next one.
    pub rotated_at: Option<Ts>,
    /// Revoked individually.
    pub is_revoked: bool,
}

impl Token {
    /// Whether the token has not expired, and neither itself, its grant nor its login has ended. Ignores rotation.
    pub fn is_alive(&self, now: Ts) -> bool {
        !self.is_revoked && !self.grant.is_ended && now < self.expires_at
    }
}

/// A token to be stored.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its digest.
    pub hash: Vec<u8>,
    pub grant: Uuid,
    pub kind: ProviderTokenKind,
    /// Scopes, separated by spaces.
    pub scope: String,
    /// The token itself, sealed; for refresh tokens.
    pub sealed: Option<Vec<u8>>,
    /// Issue.
    pub created_at: Ts,
    /// End of its life.
    pub expires_at: Ts,
}

#[derive(FromRow)]
struct TokenRow {
    #[sqlx(flatten)]
    grant: GrantRow,
    kind: String,
    scope: String,
    created_at: TsCodec,
    expires_at: TsCodec,
    rotated_at: Option<TsCodec>,
    revoked_at: Option<TsCodec>,
}

impl TokenRow {
    fn into_token(self) -> Result<Token, StoreError> {
        let kind = match self.kind.as_str() {
            "access" => ProviderTokenKind::Access,
            "refresh" => ProviderTokenKind::Refresh,
            other => return Err(StoreError::Corrupt(format!("token kind \"{other}\""))),
        };
        Ok(Token {
            grant: self.grant.into(),
            kind,
            scope: self.scope,
            created_at: self.created_at.0,
            expires_at: self.expires_at.0,
            rotated_at: self.rotated_at.map(Ts::from),
            is_revoked: self.revoked_at.is_some(),
        })
    }
}

const GET: &str = concat!(
    "SELECT ",
    grant_columns!(),
    ", t.kind, t.scope, t.created_at, t.expires_at, t.rotated_at, t.revoked_at FROM oidc_tokens t \
     JOIN oidc_grants g ON g.id = t.grant_id JOIN oidc_logins l ON l.id = g.login_id WHERE t.token_hash = ?"
);

const CURRENT_REFRESH: &str = "SELECT sealed FROM oidc_tokens WHERE grant_id = ? AND kind = 'refresh' \
     AND rotated_at IS NULL AND revoked_at IS NULL AND expires_at > ?";

const INSERT: &str = "INSERT INTO oidc_tokens (token_hash, grant_id, kind, scope, sealed, created_at, \
     expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)";

const ROTATE: &str =
    "UPDATE oidc_tokens SET rotated_at = ?, sealed = NULL WHERE token_hash = ? AND rotated_at IS NULL";

const REVOKE: &str =
    "UPDATE oidc_tokens SET revoked_at = ?, sealed = NULL WHERE token_hash = ? AND revoked_at IS NULL";

const PURGE: &str = "DELETE FROM oidc_tokens WHERE expires_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, CURRENT_REFRESH, INSERT, ROTATE, REVOKE, PURGE];

/// A token in whatever state.
pub async fn get(on: impl Into<On<'_>>, hash: &[u8]) -> Result<Option<Token>, StoreError> {
    Q::new(GET).bind(hash).optional::<TokenRow>(on).await?.map(TokenRow::into_token).transpose()
}

/// The sealed current refresh token of a grant.
pub async fn current_refresh(
    on: impl Into<On<'_>>,
    grant: Uuid,
    now: Ts,
) -> Result<Option<Vec<u8>>, StoreError> {
    let row: Option<(Option<Vec<u8>>,)> = Q::new(CURRENT_REFRESH).bind(grant).bind(now).optional(on).await?;
    Ok(row.and_then(|(sealed,)| sealed))
}

/// A new token.
pub async fn insert(tx: &mut Tx, token: &NewToken) -> Result<(), StoreError> {
    let q = Q::new(INSERT)
        .bind(token.hash.clone())
        .bind(token.grant)
        .bind(token.kind.as_str())
        .bind(&token.scope)
        .bind(token.sealed.clone())
        .bind(token.created_at)
        .bind(token.expires_at);
    q.run(tx).await.map(|_| ())
}

/// Marks a refresh token as replaced. False when it was already replaced.
pub async fn rotate(tx: &mut Tx, hash: &[u8], at: Ts) -> Result<bool, StoreError> {
    Ok(Q::new(ROTATE).bind(at).bind(hash).run(tx).await? > 0)
}

/// Ends one token.
pub async fn revoke(tx: &mut Tx, hash: &[u8], at: Ts) -> Result<u64, StoreError> {
    Q::new(REVOKE).bind(at).bind(hash).run(tx).await
}

/// Removes tokens that expired before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).run(tx).await
}
