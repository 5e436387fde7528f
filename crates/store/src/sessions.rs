//! Session chains (spec: authentication#session-chains). Locks are taken in the order user, provider login, chain.

pub mod grouped_refresh;

use crate::{
    Db, StoreError, Tx,
    identities::{Identified, UserRow, user_columns},
    sql::{Arg, On, Q},
    time::TsCodec,
    tree::subtree_column,
};
use bailiwick_domain::{ChainId, LoginId, OrgId, OrgType, SignInMethods, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// One line of refresh tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The `sid` of its tokens.
    pub id: ChainId,
    pub user_id: UserId,
    /// The browser login it was exchanged from.
    pub login_id: Option<LoginId>,
    /// The exchange.
    pub created_at: Ts,
    /// When the person last proved who they are.
    pub signed_in_at: Ts,
    /// How, if at the embedded provider.
    pub methods: Option<SignInMethods>,
    /// The session at an external issuer that it came from.
    pub issuer_session: Option<String>,
    /// `jti` of the current refresh token.
    pub refresh_id: Uuid,
    /// Its `iat`.
    pub refresh_issued_at: Ts,
    /// Its `exp`.
    pub expires_at: Ts,
    /// The reason once it is revoked.
    pub revoked: Option<String>,
}

/// What a chain was begun with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The name that the client gave of itself.
    pub user_agent: Option<String>,
    /// Its address.
    pub client_ip: Option<String>,
    /// The operator's command line has begun it; nobody has signed in.
    pub by_operator: bool,
}

/// A live chain, as its user and operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenChain {
    /// The `sid` of its tokens.
    pub id: ChainId,
    /// The browser login it was exchanged from.
    pub login_id: Option<LoginId>,
    /// The exchange.
    pub created_at: Ts,
    /// The last refresh.
    pub last_used_at: Ts,
    /// When its refresh token expires.
    pub expires_at: Ts,
    /// What it was begun with.
    pub device: Device,
    /// How the person has signed in, if at the embedded provider.
    pub methods: Option<SignInMethods>,
    /// Whether a browser of the console goes on with it.
    pub is_console: bool,
}

impl OpenChain {
    /// What uses it: `console`, `command_line` (a token that the operator has made), `application` (any other client).
    pub const fn kind(&self) -> &'static str {
        match (self.is_console, self.device.by_operator) {
            (true, _) => "console",
            (_, true) => "command_line",
            _ => "application",
        }
    }
}

#[derive(FromRow)]
struct OpenChainRow {
    id: Uuid,
    login_id: Option<Uuid>,
    created_at: TsCodec,
    last_used_at: TsCodec,
    expires_at: TsCodec,
    user_agent: Option<String>,
    client_ip: Option<String>,
    by_operator: bool,
    methods: Option<String>,
    console_browsers: i64,
}

#[derive(FromRow)]
struct ChainRow {
    chain_id: Uuid,
    chain_user_id: Uuid,
    login_id: Option<Uuid>,
    chain_created_at: TsCodec,
    signed_in_at: TsCodec,
    methods: Option<String>,
    issuer_session: Option<String>,
    refresh_id: Uuid,
    refresh_issued_at: TsCodec,
    expires_at: TsCodec,
    revoked_at: Option<TsCodec>,
    revoked_reason: Option<String>,
}

impl From<ChainRow> for Chain {
    fn from(row: ChainRow) -> Chain {
        Chain {
            id: ChainId(row.chain_id),
            user_id: UserId(row.chain_user_id),
            login_id: row.login_id.map(LoginId),
            created_at: row.chain_created_at.0,
            signed_in_at: row.signed_in_at.0,
            methods: row.methods.as_deref().map(SignInMethods::parse),
            issuer_session: row.issuer_session,
            refresh_id: row.refresh_id,
            refresh_issued_at: row.refresh_issued_at.0,
            expires_at: row.expires_at.0,
            revoked: row.revoked_at.map(|_| row.revoked_reason.unwrap_or_default()),
        }
    }
}

#[derive(FromRow)]
struct SessionRow {
    #[sqlx(flatten)]
    chain: ChainRow,
    #[sqlx(flatten)]
    user: UserRow,
}

macro_rules! chain_columns {
    () => {
        "c.id AS chain_id, c.user_id AS chain_user_id, c.login_id, c.created_at AS chain_created_at, \
         COALESCE(c.signed_in_at, c.created_at) AS signed_in_at, c.methods, c.issuer_session, c.refresh_id, c.refresh_issued_at, \
         c.expires_at, c.revoked_at, c.revoked_reason"
    };
}

/// The user of a session chain and their organization: the one read of a request with a bearer token.
pub(crate) const WITH_USERS: &str = concat!(
    "SELECT ",
    chain_columns!(),
    ", ",
    user_columns!(),
    " FROM session_chains c JOIN users u ON u.id = c.user_id JOIN organizations o ON o.id = u.organization_id \
     WHERE c.id "
);

const GET: &str = concat!("SELECT ", chain_columns!(), " FROM session_chains c WHERE c.id = ?");

const LOCK: &str =
    concat!("SELECT ", chain_columns!(), " FROM session_chains c WHERE c.id = ? [[FOR UPDATE||]]");

const INSERT: &str = "INSERT INTO session_chains (id, user_id, login_id, created_at, last_used_at, \
     refresh_id, refresh_issued_at, expires_at, user_agent, client_ip, by_operator, issuer_session, signed_in_at, methods) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const ROTATE: &str = "UPDATE session_chains SET refresh_id = ?, refresh_issued_at = ?, expires_at = ?, \
     last_used_at = ? WHERE id = ? AND refresh_id = ? AND revoked_at IS NULL";

const NOTE_ROTATION: &str =
    "INSERT INTO session_rotations (refresh_id, chain_id, rotated_at) VALUES (?, ?, ?)";

const FORGET_ROTATIONS: &str = "DELETE FROM session_rotations WHERE chain_id = ? AND rotated_at < ?";

const ROTATED_AT: &str = "SELECT rotated_at FROM session_rotations WHERE refresh_id = ? AND chain_id = ?";

const LOGIN_OF: &str = "SELECT login_id FROM session_chains WHERE id = ?";

const OPEN_OF_USER: &str = "SELECT id, login_id, created_at, last_used_at, expires_at, user_agent, client_ip, by_operator, \
     methods, (SELECT CAST(COUNT(*) AS BIGINT) FROM console_sessions s WHERE s.chain_id = session_chains.id) AS console_browsers \
     FROM session_chains WHERE user_id = ? AND revoked_at IS NULL AND expires_at > ? \
     ORDER BY created_at DESC, id DESC LIMIT 500";

const REVOKE: &str =
    "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? WHERE id = ? AND revoked_at IS NULL";

const REVOKE_OF_USER: &str = "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? \
     WHERE user_id = ? AND revoked_at IS NULL";

const REVOKE_OTHERS_OF_USER: &str = "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? \
     WHERE user_id = ? AND revoked_at IS NULL AND id <> ?";

const REVOKE_OF_LOGIN: &str = "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? \
     WHERE login_id = ? AND revoked_at IS NULL";

const REVOKE_ALL: &str =
    "UPDATE session_chains SET revoked_at = ?, revoked_reason = ? WHERE revoked_at IS NULL";

const PURGE: &str = "DELETE FROM session_chains WHERE expires_at < ? AND NOT EXISTS \
     (SELECT 1 FROM impersonation_sessions s WHERE s.impersonator_user_id = session_chains.user_id \
     AND s.chain_id = session_chains.id AND s.expires_at > ?)";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    GET,
    LOCK,
    INSERT,
    ROTATE,
    NOTE_ROTATION,
    FORGET_ROTATIONS,
    ROTATED_AT,
    LOGIN_OF,
    OPEN_OF_USER,
    REVOKE,
    REVOKE_OF_USER,
    REVOKE_OTHERS_OF_USER,
    REVOKE_OF_LOGIN,
    REVOKE_ALL,
    PURGE
];

/// These chains with their users and their organizations, in any order; chains that do not exist are left out.
pub async fn with_users(db: &Db, ids: Vec<Uuid>) -> Result<Vec<(Chain, Identified)>, StoreError> {
    let mut q = Q::new(WITH_USERS);
    if let [id] = ids[..] {
        // Not as an array of one: PostgreSQL would make a plan for it each time, which takes longer than the lookup.
        q.push("= ?").arg(id);
    } else if db.is_postgres() {
        q.push("= ANY(?)").arg(Arg::Ids(ids));
    } else if let Some(last) = ids.last().copied() {
        // Few different texts, so that they stay prepared.
        let padding = ids.len().next_power_of_two() - ids.len();
        q.push("IN (");
        q.list(ids.into_iter().chain(std::iter::repeat_n(last, padding))).push(")");
    } else {
        return Ok(Vec::new());
    }
    let rows = q.all::<SessionRow>(db).await?;
    rows.into_iter().map(|row| Ok((row.chain.into(), row.user.into_identified()?))).collect()
}

/// The chain, live or not.
pub async fn get(on: impl Into<On<'_>>, id: ChainId) -> Result<Option<Chain>, StoreError> {
    Ok(Q::new(GET).bind(id).optional::<ChainRow>(on).await?.map(Chain::from))
}

/// The chain, held until the transaction ends.
pub async fn lock(tx: &mut Tx, id: ChainId) -> Result<Option<Chain>, StoreError> {
    Ok(Q::new(LOCK).bind(id).optional::<ChainRow>(tx).await?.map(Chain::from))
}

/// Starts a chain. Where it was exchanged from a browser login, that login knows when the person signed in.
pub async fn insert(tx: &mut Tx, chain: &Chain, device: &Device) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(chain.id)
        .bind(chain.user_id)
        .bind(chain.login_id)
        .bind(chain.created_at)
        .bind(chain.created_at)
        .bind(chain.refresh_id)
        .bind(chain.refresh_issued_at)
        .bind(chain.expires_at)
        .bind(device.user_agent.as_deref())
        .bind(device.client_ip.as_deref())
        .bind(device.by_operator)
        .bind(chain.issuer_session.as_deref())
        .bind(chain.signed_in_at)
        .bind(chain.methods.map(|methods| methods.to_string()))
        .run(tx)
        .await
        .map(|_| ())
}

/// Compare and set: replaces the refresh token `used` by that of `next`. False when `used` is not the current one.
/// `used` stays known as rotated out; tokens rotated out before `grace_start` are forgotten.
pub async fn rotate(
    tx: &mut Tx,
    next: &Chain,
    used: Uuid,
    now: Ts,
    grace_start: Ts,
) -> Result<bool, StoreError> {
    let changed = Q::new(ROTATE)
        .bind(next.refresh_id)
        .bind(next.refresh_issued_at)
        .bind(next.expires_at)
        .bind(now)
        .bind(next.id)
        .bind(used)
        .run(tx)
        .await?;
    if changed == 0 {
        return Ok(false);
    }
    Q::new(FORGET_ROTATIONS).bind(next.id).bind(grace_start).run(tx).await?;
    Q::new(NOTE_ROTATION).bind(used).bind(next.id).bind(now).run(tx).await?;
    Ok(true)
}

/// When the token was rotated out of this chain, unless that is forgotten.
pub async fn rotated_at(
    on: impl Into<On<'_>>,
    chain: ChainId,
    refresh_id: Uuid,
) -> Result<Option<Ts>, StoreError> {
    let row: Option<(TsCodec,)> = Q::new(ROTATED_AT).bind(refresh_id).bind(chain).optional(on).await?;
    Ok(row.map(|(at,)| at.0))
}

/// The provider login a chain came from.
pub async fn login_of(on: impl Into<On<'_>>, id: ChainId) -> Result<Option<LoginId>, StoreError> {
    let row: Option<(Option<Uuid>,)> = Q::new(LOGIN_OF).bind(id).optional(on).await?;
    Ok(row.and_then(|(login,)| login).map(LoginId))
}

/// The live chains of a user, the newest first; at most 500.
pub async fn open_of_user(
    on: impl Into<On<'_>>,
    user: UserId,
    now: Ts,
) -> Result<Vec<OpenChain>, StoreError> {
    let rows: Vec<OpenChainRow> = Q::new(OPEN_OF_USER).bind(user).bind(now).all(on).await?;
    let open = |row: OpenChainRow| OpenChain {
        id: ChainId(row.id),
        login_id: row.login_id.map(LoginId),
        created_at: row.created_at.0,
        last_used_at: row.last_used_at.0,
        expires_at: row.expires_at.0,
        device: Device { user_agent: row.user_agent, client_ip: row.client_ip, by_operator: row.by_operator },
        methods: row.methods.as_deref().map(SignInMethods::parse),
        is_console: row.console_browsers > 0,
    };
    Ok(rows.into_iter().map(open).collect())
}

/// Ends one chain.
pub async fn revoke(tx: &mut Tx, id: ChainId, at: Ts, reason: &str) -> Result<u64, StoreError> {
    Q::new(REVOKE).bind(at).bind(reason).bind(id).run(tx).await
}

/// Ends the chains of a user that exist now, except `keep`.
pub async fn revoke_of_user(
    tx: &mut Tx,
    user: UserId,
    keep: Option<ChainId>,
    at: Ts,
    reason: &str,
) -> Result<u64, StoreError> {
    match keep {
        None => Q::new(REVOKE_OF_USER).bind(at).bind(reason).bind(user).run(tx).await,
        Some(keep) => Q::new(REVOKE_OTHERS_OF_USER).bind(at).bind(reason).bind(user).bind(keep).run(tx).await,
    }
}

/// The most chains of one read of [`of_issuer_session`].
pub const OF_ISSUER: usize = 1000;

/// The live chains that were begun until `until` from a session at an external issuer, with their users, at most
/// [`OF_ISSUER`]. `user`: only theirs, and also chains whose session at the issuer is unknown. Without a session: all
/// of the user.
pub async fn of_issuer_session(
    db: &Db,
    user: Option<UserId>,
    issuer_session: Option<&str>,
    (until, now): (Ts, Ts),
) -> Result<Vec<(UserId, ChainId)>, StoreError> {
    let mut q = Q::new(
        "SELECT user_id, id FROM session_chains WHERE revoked_at IS NULL AND created_at <= ? AND expires_at > ?",
    );
    q.arg(until).arg(now);
    match (user, issuer_session) {
        (None, None) => return Ok(Vec::new()),
        (None, Some(session)) => q.push(" AND issuer_session = ?").arg(session),
        (Some(user), None) => q.push(" AND user_id = ?").arg(user),
        (Some(user), Some(session)) => {
            q.push(" AND user_id = ?").arg(user);
            q.push(" AND (issuer_session IS NULL OR issuer_session = ?)").arg(session)
        }
    };
    q.push(&format!(" ORDER BY user_id, id LIMIT {OF_ISSUER}"));
    let rows: Vec<(Uuid, Uuid)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(user, chain)| (UserId(user), ChainId(chain))).collect())
}

/// Ends the chains exchanged from a provider login.
pub async fn revoke_of_login(tx: &mut Tx, login: LoginId, at: Ts, reason: &str) -> Result<u64, StoreError> {
    Q::new(REVOKE_OF_LOGIN).bind(at).bind(reason).bind(login).run(tx).await
}

/// Ends the chains of all users.
pub async fn revoke_all(tx: &mut Tx, at: Ts, reason: &str) -> Result<u64, StoreError> {
    Q::new(REVOKE_ALL).bind(at).bind(reason).run(tx).await
}

/// Ends the chains of all users of an organization of this type and of everything below it.
pub async fn revoke_below(
    tx: &mut Tx,
    organization: (OrgId, OrgType),
    at: Ts,
    reason: &str,
) -> Result<u64, StoreError> {
    let mut q = Q::new(
        "UPDATE session_chains AS t SET revoked_at = ?, revoked_reason = ? WHERE t.revoked_at IS NULL",
    )
    .bind(at)
    .bind(reason);
    push_user_below(&mut q, organization);
    q.run(tx).await
}

/// Appends ` AND …`: the user of the row `t` is in this organization or below it.
pub(crate) fn push_user_below(q: &mut Q, (organization, org_type): (OrgId, OrgType)) {
    let column = subtree_column(org_type, "organization_id");
    q.push(&format!(" AND EXISTS (SELECT 1 FROM users u WHERE u.id = t.user_id AND u.{column} = ?)"));
    q.arg(organization);
}

/// Removes chains whose last refresh token expired before `before`; their rotations go with them. A chain with an
/// impersonation session stays until that session's time is over, ended or not: if the chain is revoked, before or
/// after its own expiry, the impersonator may not return to it.
pub async fn purge(tx: &mut Tx, before: Ts, now: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(now).run(tx).await
}
