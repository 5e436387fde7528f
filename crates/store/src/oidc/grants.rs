//! Grants: an authorization code and the tokens issued for it.

use crate::{
    StoreError, Tx,
    oidc::logins::methods_of,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{LoginId, SignInMethods, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A grant of a user's login to a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub id: Uuid,
    pub user_id: UserId,
    /// Through which login.
    pub login_id: LoginId,
    pub client_id: String,
    /// Scopes, separated by spaces.
    pub scope: String,
    /// To be repeated in the ID tokens.
    pub nonce: Option<String>,
    /// Audience of access tokens for a resource.
    pub resource: Option<String>,
    /// When the user last signed in.
    pub auth_at: Ts,
    /// How.
    pub methods: SignInMethods,
    pub code: Code,
    /// Creation.
    pub created_at: Ts,
    /// When its last token has expired.
    pub expires_at: Ts,
    /// Ended by itself or with its login.
    pub is_ended: bool,
}

/// The authorization code of a grant.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The redirect URI it was sent to.
    pub redirect_uri: String,
    /// S256 challenge.
    pub challenge: Option<String>,
    /// End of its life.
    pub expires_at: Ts,
    /// Its first use.
    pub used_at: Option<Ts>,
}

#[derive(FromRow)]
pub(crate) struct GrantRow {
    grant_id: Uuid,
    user_id: Uuid,
    login_id: Uuid,
    client_id: String,
    grant_scope: String,
    nonce: Option<String>,
    resource: Option<String>,
    auth_at: TsCodec,
    code_redirect_uri: String,
    code_challenge: Option<String>,
    code_expires_at: TsCodec,
    code_used_at: Option<TsCodec>,
    grant_created_at: TsCodec,
    grant_expires_at: TsCodec,
    grant_ended_at: Option<TsCodec>,
    login_ended_at: Option<TsCodec>,
    grant_methods: Option<String>,
}

impl From<GrantRow> for Grant {
    fn from(row: GrantRow) -> Grant {
        Grant {
            id: row.grant_id,
            user_id: UserId(row.user_id),
            login_id: LoginId(row.login_id),
            client_id: row.client_id,
            scope: row.grant_scope,
            nonce: row.nonce,
            resource: row.resource,
            auth_at: row.auth_at.0,
            methods: methods_of(row.grant_methods.as_deref()),
            code: Code {
                redirect_uri: row.code_redirect_uri,
                challenge: row.code_challenge,
                expires_at: row.code_expires_at.0,
                used_at: row.code_used_at.map(Ts::from),
            },
            created_at: row.grant_created_at.0,
            expires_at: row.grant_expires_at.0,
            is_ended: row.grant_ended_at.is_some() || row.login_ended_at.is_some(),
        }
    }
}

/// The columns of [`GrantRow`]; `g` is the grant, `l` its login.
macro_rules! grant_columns {
    () => {
        "g.id AS grant_id, g.user_id, g.login_id, g.client_id, g.scope AS grant_scope, g.nonce, g.resource, g.auth_at, \
         g.code_redirect_uri, g.code_challenge, g.code_expires_at, g.code_used_at, \
         g.created_at AS grant_created_at, g.expires_at AS grant_expires_at, g.ended_at AS grant_ended_at, \
         l.ended_at AS login_ended_at, COALESCE(g.methods, l.methods) AS grant_methods"
    };
}
pub(crate) use grant_columns;

const BY_CODE: &str = concat!(
    "SELECT ",
    grant_columns!(),
    " FROM oidc_grants g JOIN oidc_logins l ON l.id = g.login_id WHERE g.code_hash = ?"
);

const LOCK: &str = concat!(
    "SELECT ",
    grant_columns!(),
    " FROM oidc_grants g JOIN oidc_logins l ON l.id = g.login_id WHERE g.id = ? [[FOR UPDATE OF g||]]"
);

const INSERT: &str = "INSERT INTO oidc_grants (id, user_id, login_id, client_id, scope, nonce, resource, \
     auth_at, methods, code_hash, code_redirect_uri, code_challenge, code_expires_at, created_at, expires_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const USE_CODE: &str = "UPDATE oidc_grants SET code_used_at = ? WHERE id = ? AND code_used_at IS NULL";

const EXTEND: &str = "UPDATE oidc_grants SET expires_at = ? WHERE id = ? AND expires_at < ?";

const END: &str = "UPDATE oidc_grants SET ended_at = ? WHERE id = ? AND ended_at IS NULL";

const END_OF_CLIENT: &str =
    "UPDATE oidc_grants SET ended_at = ? WHERE user_id = ? AND client_id = ? AND ended_at IS NULL";

const REVOKE_CHAINS_SINCE: &str = "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? \
     WHERE login_id = ? AND created_at >= ? AND revoked_at IS NULL";

const PURGE: &str = "DELETE FROM oidc_grants WHERE expires_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    BY_CODE,
    LOCK,
    INSERT,
    USE_CODE,
    EXTEND,
    END,
    END_OF_CLIENT,
    REVOKE_CHAINS_SINCE,
    PURGE
];

/// The grant of a code, in whatever state.
pub async fn by_code(on: impl Into<On<'_>>, code_hash: &[u8]) -> Result<Option<Grant>, StoreError> {
    Ok(Q::new(BY_CODE).bind(code_hash).optional::<GrantRow>(on).await?.map(Grant::from))
}

/// The grant, held until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Grant>, StoreError> {
    Ok(Q::new(LOCK).bind(id).optional::<GrantRow>(tx).await?.map(Grant::from))
}

/// A new grant with its code.
pub async fn insert(tx: &mut Tx, grant: &Grant, code_hash: &[u8]) -> Result<(), StoreError> {
    let q = Q::new(INSERT)
        .bind(grant.id)
        .bind(grant.user_id)
        .bind(grant.login_id)
        .bind(&grant.client_id)
        .bind(&grant.scope)
        .bind(grant.nonce.clone())
        .bind(grant.resource.clone())
        .bind(grant.auth_at)
        .bind(grant.methods.to_string())
        .bind(code_hash)
        .bind(&grant.code.redirect_uri)
        .bind(grant.code.challenge.clone())
        .bind(grant.code.expires_at)
        .bind(grant.created_at)
        .bind(grant.expires_at);
    q.run(tx).await.map(|_| ())
}

/// Marks the code as used. False when it was already used.
pub async fn use_code(tx: &mut Tx, id: Uuid, at: Ts) -> Result<bool, StoreError> {
    Ok(Q::new(USE_CODE).bind(at).bind(id).run(tx).await? > 0)
}

/// Keeps the grant at least until `expires_at`.
pub async fn extend(tx: &mut Tx, id: Uuid, expires_at: Ts) -> Result<u64, StoreError> {
    Q::new(EXTEND).bind(expires_at).bind(id).bind(expires_at).run(tx).await
}

/// Ends the grant and with it all its tokens.
pub async fn end(tx: &mut Tx, id: Uuid, at: Ts) -> Result<u64, StoreError> {
    Q::new(END).bind(at).bind(id).run(tx).await
}

/// Ends the grants of the user to one client, and with them all its tokens.
pub async fn end_of_client(tx: &mut Tx, user: UserId, client_id: &str, at: Ts) -> Result<u64, StoreError> {
    Q::new(END_OF_CLIENT).bind(at).bind(user).bind(client_id).run(tx).await
}

/// Ends the session chains exchanged through the login of a grant since `since`.
pub async fn revoke_chains_since(
    tx: &mut Tx,
    login: LoginId,
    since: Ts,
    at: Ts,
    reason: &str,
) -> Result<u64, StoreError> {
    Q::new(REVOKE_CHAINS_SINCE).bind(at).bind(reason).bind(login).bind(since).run(tx).await
}

/// Removes grants whose last token expired before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).run(tx).await
}
