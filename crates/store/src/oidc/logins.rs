//! Browser logins.

use crate::{
    StoreError, Tx,
    sessions::push_user_below,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{LoginId, OrgId, OrgType, SignInMethod, SignInMethods, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A browser that has signed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// Id; `sid` of the ID tokens.
    pub id: LoginId,
    pub user_id: UserId,
    /// When the password was last entered; `auth_time` of the ID tokens.
    pub authenticated_at: Ts,
    /// How.
    pub methods: SignInMethods,
    /// End of the cookie.
    pub expires_at: Ts,
}

/// An active login, as its user and operators see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLogin {
    pub id: LoginId,
    /// The first sign-in.
    pub created_at: Ts,
    /// When the password was last entered.
    pub authenticated_at: Ts,
    /// End of the cookie.
    pub expires_at: Ts,
}

#[derive(FromRow)]
struct OpenLoginRow {
    id: Uuid,
    created_at: TsCodec,
    authenticated_at: TsCodec,
    expires_at: TsCodec,
}

#[derive(FromRow)]
struct LoginRow {
    id: Uuid,
    user_id: Uuid,
    authenticated_at: TsCodec,
    methods: Option<String>,
    expires_at: TsCodec,
}

impl From<LoginRow> for Login {
    fn from(row: LoginRow) -> Login {
        Login {
            id: LoginId(row.id),
            user_id: UserId(row.user_id),
            authenticated_at: row.authenticated_at.0,
            methods: methods_of(row.methods.as_deref()),
            expires_at: row.expires_at.0,
        }
    }
}

/// A program of the version before has written none: it knows passwords only.
pub(crate) fn methods_of(stored: Option<&str>) -> SignInMethods {
    stored.map_or(SignInMethods::of(SignInMethod::Password), SignInMethods::parse)
}

const BY_TOKEN: &str = "SELECT id, user_id, authenticated_at, methods, expires_at FROM oidc_logins \
     WHERE token_hash = ? AND ended_at IS NULL AND expires_at > ?";

macro_rules! open_of_user {
    () => {
        " FROM oidc_logins WHERE user_id = ? AND ended_at IS NULL AND (expires_at > ? OR EXISTS \
         (SELECT 1 FROM oidc_grants g WHERE g.login_id = oidc_logins.id AND g.ended_at IS NULL \
         AND g.expires_at > ?))"
    };
}

const OPEN_OF_USER: &str = concat!(
    "SELECT id, created_at, authenticated_at, expires_at",
    open_of_user!(),
    " ORDER BY created_at DESC, id DESC LIMIT 500"
);

const IS_OPEN: &str = concat!("SELECT CAST(1 AS BIGINT)", open_of_user!(), " AND id = ?");

const INSERT: &str = "INSERT INTO oidc_logins (id, user_id, token_hash, created_at, authenticated_at, \
     methods, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)";

const RENEW: &str = "UPDATE oidc_logins SET token_hash = ?, authenticated_at = ?, methods = ?, expires_at = ? \
     WHERE id = ? AND ended_at IS NULL";

const HOLD: &str =
    "SELECT CAST(1 AS BIGINT) FROM oidc_logins WHERE id = ? AND ended_at IS NULL [[FOR SHARE||]]";

const END: &str = "UPDATE oidc_logins SET ended_at = ? WHERE id = ? AND ended_at IS NULL";

const END_OF_USER: &str = "UPDATE oidc_logins SET ended_at = ? WHERE user_id = ? AND ended_at IS NULL";

const END_OTHERS_OF_USER: &str =
    "UPDATE oidc_logins SET ended_at = ? WHERE user_id = ? AND ended_at IS NULL AND id <> ?";

const END_ALL: &str = "UPDATE oidc_logins SET ended_at = ? WHERE ended_at IS NULL";

// Not while a grant still has tokens to refresh: without the login they would end.
const PURGE: &str = "DELETE FROM oidc_logins WHERE expires_at < ? \
     AND NOT EXISTS (SELECT 1 FROM oidc_grants g WHERE g.login_id = oidc_logins.id)";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    BY_TOKEN,
    OPEN_OF_USER,
    IS_OPEN,
    INSERT,
    RENEW,
    HOLD,
    END,
    END_OF_USER,
    END_OTHERS_OF_USER,
    END_ALL,
    PURGE
];

/// The live login of a browser.
pub async fn by_token(
    on: impl Into<On<'_>>,
    token_hash: &[u8],
    now: Ts,
) -> Result<Option<Login>, StoreError> {
    Ok(Q::new(BY_TOKEN).bind(token_hash).bind(now).optional::<LoginRow>(on).await?.map(Login::from))
}

/// The logins of a user that still give access, by their cookie or by tokens that are renewed; the newest first, at
/// most 500.
pub async fn open_of_user(
    on: impl Into<On<'_>>,
    user: UserId,
    now: Ts,
) -> Result<Vec<OpenLogin>, StoreError> {
    let rows: Vec<OpenLoginRow> = Q::new(OPEN_OF_USER).bind(user).bind(now).bind(now).all(on).await?;
    let open = |row: OpenLoginRow| OpenLogin {
        id: LoginId(row.id),
        created_at: row.created_at.0,
        authenticated_at: row.authenticated_at.0,
        expires_at: row.expires_at.0,
    };
    Ok(rows.into_iter().map(open).collect())
}

/// Whether this is a login of the user that still gives access.
pub async fn is_open(tx: &mut Tx, user: UserId, id: LoginId, now: Ts) -> Result<bool, StoreError> {
    let q = Q::new(IS_OPEN).bind(user).bind(now).bind(now).bind(id);
    Ok(q.optional::<(i64,)>(tx).await?.is_some())
}

/// A new login.
pub async fn insert(tx: &mut Tx, login: &Login, token_hash: &[u8]) -> Result<(), StoreError> {
    let q = Q::new(INSERT)
        .bind(login.id)
        .bind(login.user_id)
        .bind(token_hash)
        .bind(login.authenticated_at)
        .bind(login.authenticated_at)
        .bind(login.methods.to_string())
        .bind(login.expires_at);
    q.run(tx).await.map(|_| ())
}

/// The same user has signed in again in the same browser: same login, new cookie. False when the login has ended
/// meanwhile.
pub async fn renew(tx: &mut Tx, login: &Login, token_hash: &[u8]) -> Result<bool, StoreError> {
    let q = Q::new(RENEW)
        .bind(token_hash)
        .bind(login.authenticated_at)
        .bind(login.methods.to_string())
        .bind(login.expires_at)
        .bind(login.id);
    Ok(q.run(tx).await? > 0)
}

/// Whether the login is live; it stays so until the transaction ends.
pub async fn hold(tx: &mut Tx, id: LoginId) -> Result<bool, StoreError> {
    Ok(Q::new(HOLD).bind(id).optional::<(i64,)>(tx).await?.is_some())
}

/// Ends a login and, with it, every token issued through it.
pub async fn end(tx: &mut Tx, id: LoginId, at: Ts) -> Result<u64, StoreError> {
    Q::new(END).bind(at).bind(id).run(tx).await
}

/// Ends the logins of a user, except `keep`.
pub async fn end_of_user(
    tx: &mut Tx,
    user: UserId,
    keep: Option<LoginId>,
    at: Ts,
) -> Result<u64, StoreError> {
    match keep {
        None => Q::new(END_OF_USER).bind(at).bind(user).run(tx).await,
        Some(keep) => Q::new(END_OTHERS_OF_USER).bind(at).bind(user).bind(keep).run(tx).await,
    }
}

/// Ends the logins of all users.
pub async fn end_all(tx: &mut Tx, at: Ts) -> Result<u64, StoreError> {
    Q::new(END_ALL).bind(at).run(tx).await
}

/// Ends the logins of all users of an organization of this type and of everything below it.
pub async fn end_below(tx: &mut Tx, organization: (OrgId, OrgType), at: Ts) -> Result<u64, StoreError> {
    let mut q = Q::new("UPDATE oidc_logins AS t SET ended_at = ? WHERE t.ended_at IS NULL").bind(at);
    push_user_below(&mut q, organization);
    q.run(tx).await
}

/// Removes logins that expired before `before` and have no grants left.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).run(tx).await
}
