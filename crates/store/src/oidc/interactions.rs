//! Authorization requests that wait for a user to sign in.

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{SignInMethods, Ts, UserId};
use serde_json::Value;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// What the user must still do after the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Prove a second factor.
    Prove,
    /// Add one, because one is required.
    Add,
}

impl Step {
    const fn as_str(self) -> &'static str {
        match self {
            Step::Prove => "prove",
            Step::Add => "add",
        }
    }

    fn parse(word: &str) -> Step {
        // An unknown step of a later version is never skipped.
        if word == "add" { Step::Add } else { Step::Prove }
    }
}

/// A stored request, bound to the browser that sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Id; part of the addresses of its pages, useless without the browser's cookie.
    pub id: Uuid,
    /// Digest of the browser's cookie.
    pub browser_hash: Vec<u8>,
    /// The request as the provider wrote it.
    pub request: Value,
    /// The user whose password was right.
    pub user_id: Option<UserId>,
    /// The password was a generated one and must be replaced before anything else.
    pub must_replace_password: bool,
    /// What comes before anything else.
    pub step: Option<Step>,
    /// What the user has proved so far.
    pub methods: SignInMethods,
    /// Creation.
    pub created_at: Ts,
    /// From then on the request no longer exists.
    pub expires_at: Ts,
}

#[derive(FromRow)]
struct InteractionRow {
    id: Uuid,
    browser_hash: Vec<u8>,
    request: Value,
    user_id: Option<Uuid>,
    must_replace_password: bool,
    step: Option<String>,
    methods: Option<String>,
    created_at: TsCodec,
    expires_at: TsCodec,
}

impl From<InteractionRow> for Interaction {
    fn from(row: InteractionRow) -> Interaction {
        Interaction {
            id: row.id,
            browser_hash: row.browser_hash,
            request: row.request,
            user_id: row.user_id.map(UserId),
            must_replace_password: row.must_replace_password,
            step: row.step.as_deref().map(Step::parse),
            methods: row.methods.as_deref().map(SignInMethods::parse).unwrap_or_default(),
            created_at: row.created_at.0,
            expires_at: row.expires_at.0,
        }
    }
}

macro_rules! interaction_columns {
    () => {
        "id, browser_hash, request, user_id, must_replace_password, step, methods, created_at, expires_at"
    };
}

const GET: &str = concat!(
    "SELECT ",
    interaction_columns!(),
    " FROM oidc_interactions WHERE id = ? AND browser_hash = ? AND expires_at > ?"
);

const LATEST: &str = concat!(
    "SELECT ",
    interaction_columns!(),
    " FROM oidc_interactions WHERE browser_hash = ? AND expires_at > ? ORDER BY created_at DESC, id DESC LIMIT 1"
);

const INSERT: &str = "INSERT INTO oidc_interactions (id, browser_hash, request, must_replace_password, \
     created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)";

const IDENTIFY: &str = "UPDATE oidc_interactions SET user_id = ?, must_replace_password = ?, \
     step = ?, methods = ?, browser_hash = ? WHERE id = ? AND browser_hash = ?";

const PASS: &str = "UPDATE oidc_interactions SET step = NULL, methods = ?, browser_hash = ? \
     WHERE id = ? AND browser_hash = ? AND user_id = ? AND step = ?";

const REWRITE: &str = "UPDATE oidc_interactions SET request = ? \
     WHERE id = ? AND browser_hash = ? AND must_replace_password = ? AND COALESCE(step, '') = ?";

const RESET: &str = "UPDATE oidc_interactions SET user_id = NULL, must_replace_password = ?, step = NULL, \
     methods = NULL WHERE id = ?";

// Only if unchanged since it was read: a request that another transaction has finished or changed meanwhile is not
// finished again.
const TAKE: &str = "DELETE FROM oidc_interactions WHERE id = ? AND browser_hash = ? AND must_replace_password = ? \
     AND COALESCE(step, '') = ?";

const FORGET_USER: &str = "DELETE FROM oidc_interactions WHERE user_id = ?";

const FORGET_ALL: &str = "DELETE FROM oidc_interactions WHERE user_id IS NOT NULL";

const FORGET_OTHERS: &str = "DELETE FROM oidc_interactions WHERE user_id = ? AND id <> ?";

const PURGE: &str = "DELETE FROM oidc_interactions WHERE expires_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    GET,
    LATEST,
    INSERT,
    IDENTIFY,
    PASS,
    REWRITE,
    RESET,
    TAKE,
    FORGET_USER,
    FORGET_ALL,
    FORGET_OTHERS,
    PURGE
];

/// A live request of this browser.
pub async fn get(
    on: impl Into<On<'_>>,
    id: Uuid,
    browser_hash: &[u8],
    now: Ts,
) -> Result<Option<Interaction>, StoreError> {
    let q = Q::new(GET).bind(id).bind(browser_hash).bind(now);
    Ok(q.optional::<InteractionRow>(on).await?.map(Interaction::from))
}

/// The last live request of this browser; for clients that know only their cookies.
pub async fn latest(
    on: impl Into<On<'_>>,
    browser_hash: &[u8],
    now: Ts,
) -> Result<Option<Interaction>, StoreError> {
    let q = Q::new(LATEST).bind(browser_hash).bind(now);
    Ok(q.optional::<InteractionRow>(on).await?.map(Interaction::from))
}

/// A new request.
pub async fn insert(tx: &mut Tx, new: &Interaction) -> Result<(), StoreError> {
    let q = Q::new(INSERT)
        .bind(new.id)
        .bind(new.browser_hash.clone())
        .bind(new.request.clone())
        .bind(false)
        .bind(new.created_at)
        .bind(new.expires_at);
    q.run(tx).await.map(|_| ())
}

/// Who has entered a right password, and what they must still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordEntered {
    pub user: UserId,
    /// The password was a generated one.
    pub must_replace_password: bool,
    /// What comes before that.
    pub step: Option<Step>,
    /// What they have proved so far.
    pub methods: SignInMethods,
}

/// Notes the user whose password was right and binds the request to `browser_hash`, which may be a new one. False when
/// the request no longer exists.
pub async fn identify(
    tx: &mut Tx,
    interaction: &Interaction,
    entered: PasswordEntered,
    browser_hash: &[u8],
) -> Result<bool, StoreError> {
    let q = Q::new(IDENTIFY)
        .bind(entered.user)
        .bind(entered.must_replace_password)
        .bind(entered.step.map(Step::as_str))
        .bind(entered.methods.to_string())
        .bind(browser_hash)
        .bind(interaction.id)
        .bind(interaction.browser_hash.clone());
    Ok(q.run(tx).await? > 0)
}

/// Notes that the user has done their step and binds the request to `browser_hash`. False when the request no longer
/// exists or has changed since it was read.
pub async fn pass(
    tx: &mut Tx,
    interaction: &Interaction,
    methods: SignInMethods,
    browser_hash: &[u8],
) -> Result<bool, StoreError> {
    let q = Q::new(PASS)
        .bind(methods.to_string())
        .bind(browser_hash)
        .bind(interaction.id)
        .bind(interaction.browser_hash.clone())
        .bind(interaction.user_id)
        .bind(interaction.step.map(Step::as_str));
    Ok(q.run(tx).await? > 0)
}

/// Replaces the stored request. False when it no longer exists or has changed since it was read.
pub async fn rewrite(tx: &mut Tx, interaction: &Interaction, request: &Value) -> Result<bool, StoreError> {
    let q = Q::new(REWRITE)
        .bind(request.clone())
        .bind(interaction.id)
        .bind(interaction.browser_hash.clone())
        .bind(interaction.must_replace_password)
        .bind(interaction.step.map_or("", Step::as_str));
    Ok(q.run(tx).await? > 0)
}

/// Forgets the signed-in user: the request starts over.
pub async fn reset(tx: &mut Tx, id: Uuid) -> Result<u64, StoreError> {
    Q::new(RESET).bind(false).bind(id).run(tx).await
}

/// Ends the request because it is answered. False when it no longer exists or has changed since it was read.
pub async fn claim(tx: &mut Tx, interaction: &Interaction) -> Result<bool, StoreError> {
    let q = Q::new(TAKE)
        .bind(interaction.id)
        .bind(interaction.browser_hash.clone())
        .bind(interaction.must_replace_password)
        .bind(interaction.step.map_or("", Step::as_str));
    Ok(q.run(tx).await? > 0)
}

/// Ends the requests in which this user has already entered their password.
pub async fn forget_user(tx: &mut Tx, user: UserId) -> Result<u64, StoreError> {
    Q::new(FORGET_USER).bind(user).run(tx).await
}

/// Ends the sign-ins of all users who have entered their password and not yet finished.
pub async fn forget_all(tx: &mut Tx) -> Result<u64, StoreError> {
    Q::new(FORGET_ALL).run(tx).await
}

/// Ends the requests in which this user has already entered their password, except one.
pub async fn forget_others_of_user(tx: &mut Tx, user: UserId, keep: Uuid) -> Result<u64, StoreError> {
    Q::new(FORGET_OTHERS).bind(user).bind(keep).run(tx).await
}

/// Removes requests that expired before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).run(tx).await
}
