//! Second factors of users (docs/identity.md): what each has and needs in one read, authenticator applications,
//! recovery codes, wrong codes and the requirements of organizations. Passkeys are in [`passkeys`].
//!
//! Whoever changes a row here has locked the user's row first ([`crate::identities::get_for_login`]), so that codes are
//! checked and counted one after the other, whichever process takes them.

pub mod passkeys;

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// What a user has beside their password, and whether an organization requires it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Number of passkeys.
    pub passkeys: u64,
    /// Whether there is an authenticator application.
    pub has_totp: bool,
    /// Whether the user's organization or one above it requires a second factor.
    pub is_required: bool,
    /// The first sign-in at which one was required and missing.
    pub grace_began_at: Option<Ts>,
}

impl Standing {
    /// Whether there is anything beside the password.
    pub const fn has_any(&self) -> bool {
        self.passkeys > 0 || self.has_totp
    }
}

/// An authenticator application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totp {
    /// Its secret, sealed.
    pub sealed: Vec<u8>,
    /// When it was added.
    pub created_at: Ts,
    /// Its last use.
    pub last_used_at: Option<Ts>,
    /// The last time step whose code was used.
    pub last_step: Option<u64>,
}

/// Wrong codes of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrongCodes {
    /// Since the last right one.
    pub in_a_row: u64,
    /// Since the window began.
    pub in_window: u64,
    /// When that was.
    pub window_began_at: Option<Ts>,
}

/// An organization that requires a second factor of its users and of those below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub organization: OrgId,
    /// The level of the user who has set it.
    pub set_by: OrgType,
    /// When.
    pub set_at: Ts,
}

#[derive(FromRow)]
struct StandingRow {
    passkeys: i64,
    has_totp: bool,
    is_required: bool,
    grace_began_at: Option<TsCodec>,
}

#[derive(FromRow)]
struct TotpRow {
    totp_secret: Option<Vec<u8>>,
    totp_created_at: Option<TsCodec>,
    totp_used_at: Option<TsCodec>,
    totp_step: Option<i64>,
}

#[derive(FromRow)]
struct WrongRow {
    wrong_in_a_row: i64,
    wrong_in_window: i64,
    window_began_at: Option<TsCodec>,
}

// The organization itself and those above it; the owner's has no column in the rows below it.
const STANDING: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM passkeys p WHERE p.user_id = u.id) AS passkeys, \
     EXISTS (SELECT 1 FROM second_factors f WHERE f.user_id = u.id AND f.totp_secret IS NOT NULL) AS has_totp, \
     EXISTS (SELECT 1 FROM second_factor_requirements r JOIN organizations a ON a.id = r.organization_id \
     WHERE a.id = o.id OR a.id = o.p2 OR a.id = o.p3 OR a.type = 'owner') AS is_required, \
     (SELECT f.grace_began_at FROM second_factors f WHERE f.user_id = u.id) AS grace_began_at \
     FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ?";

const ENSURE: &str = "INSERT INTO second_factors (user_id, wrong_in_a_row, wrong_in_window) VALUES (?, 0, 0) \
     ON CONFLICT (user_id) DO NOTHING";

const TOTP: &str =
    "SELECT totp_secret, totp_created_at, totp_used_at, totp_step FROM second_factors WHERE user_id = ?";

const SET_TOTP: &str = "UPDATE second_factors SET totp_secret = ?, totp_created_at = ?, totp_used_at = ?, totp_step = ? \
     WHERE user_id = ?";

const USE_TOTP: &str =
    "UPDATE second_factors SET totp_used_at = ?, totp_step = ? WHERE user_id = ? AND totp_secret IS NOT NULL";

const RESEAL_TOTP: &str = "UPDATE second_factors SET totp_secret = ? WHERE user_id = ? AND totp_secret = ?";

const SEALED: &str = "SELECT user_id, totp_secret FROM second_factors WHERE totp_secret IS NOT NULL AND user_id > ? ORDER BY user_id LIMIT 500";

const WRONG: &str =
    "SELECT wrong_in_a_row, wrong_in_window, window_began_at FROM second_factors WHERE user_id = ?";

const SET_WRONG: &str = "UPDATE second_factors SET wrong_in_a_row = ?, wrong_in_window = ?, window_began_at = ? WHERE user_id = ?";

const SET_GRACE: &str = "UPDATE second_factors SET grace_began_at = ? WHERE user_id = ?";

const FORGET: &str = "DELETE FROM second_factors WHERE user_id = ?";

const ADD_CODE: &str = "INSERT INTO recovery_codes (user_id, code_hash) VALUES (?, ?)";

const USE_CODE: &str = "DELETE FROM recovery_codes WHERE user_id = ? AND code_hash = ?";

const COUNT_CODES: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM recovery_codes WHERE user_id = ?";

const FORGET_CODES: &str = "DELETE FROM recovery_codes WHERE user_id = ?";

const REQUIREMENT: &str =
    "SELECT organization_id, set_by_type, set_at FROM second_factor_requirements WHERE organization_id = ?";

const REQUIRE: &str = "INSERT INTO second_factor_requirements (organization_id, set_by_type, set_at) VALUES (?, ?, ?) \
     ON CONFLICT (organization_id) DO UPDATE SET set_by_type = excluded.set_by_type, set_at = excluded.set_at";

const TAKE_BACK: &str = "DELETE FROM second_factor_requirements WHERE organization_id = ?";

const REQUIRED_ABOVE: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM organizations o JOIN second_factor_requirements r \
     ON r.organization_id <> o.id JOIN organizations a ON a.id = r.organization_id \
     WHERE o.id = ? AND (a.id = o.p2 OR a.id = o.p3 OR a.type = 'owner')";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    STANDING,
    ENSURE,
    TOTP,
    SET_TOTP,
    USE_TOTP,
    RESEAL_TOTP,
    SEALED,
    WRONG,
    SET_WRONG,
    SET_GRACE,
    FORGET,
    ADD_CODE,
    USE_CODE,
    COUNT_CODES,
    FORGET_CODES,
    REQUIREMENT,
    REQUIRE,
    TAKE_BACK,
    REQUIRED_ABOVE
];

fn number(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

fn stored(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// What the user has and needs; nothing of anyone who does not exist.
pub async fn standing(on: impl Into<On<'_>>, user: UserId) -> Result<Standing, StoreError> {
    let row: Option<StandingRow> = Q::new(STANDING).bind(user).optional(on).await?;
    Ok(row.map_or_else(Standing::default, |row| Standing {
        passkeys: number(row.passkeys),
        has_totp: row.has_totp,
        is_required: row.is_required,
        grace_began_at: row.grace_began_at.map(Ts::from),
    }))
}

async fn ensure(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    Q::new(ENSURE).bind(user).run(tx).await.map(|_| ())
}

/// The user's authenticator application.
pub async fn totp(on: impl Into<On<'_>>, user: UserId) -> Result<Option<Totp>, StoreError> {
    let row: Option<TotpRow> = Q::new(TOTP).bind(user).optional(on).await?;
    Ok(row.and_then(|row| {
        Some(Totp {
            sealed: row.totp_secret?,
            created_at: row.totp_created_at?.0,
            last_used_at: row.totp_used_at.map(Ts::from),
            last_step: row.totp_step.map(number),
        })
    }))
}

/// Replaces or, with none, removes it.
pub async fn set_totp(tx: &mut Tx, user: UserId, totp: Option<&Totp>) -> Result<(), StoreError> {
    ensure(tx, user).await?;
    let q = Q::new(SET_TOTP)
        .bind(totp.map(|totp| totp.sealed.clone()))
        .bind(totp.map(|totp| totp.created_at))
        .bind(totp.and_then(|totp| totp.last_used_at))
        .bind(totp.and_then(|totp| totp.last_step).map(stored))
        .bind(user);
    q.run(tx).await.map(|_| ())
}

/// Notes a use: no code of this time step or an earlier one counts again.
pub async fn use_totp(tx: &mut Tx, user: UserId, step: u64, at: Ts) -> Result<(), StoreError> {
    Q::new(USE_TOTP).bind(at).bind(stored(step)).bind(user).run(tx).await.map(|_| ())
}

/// At most 500 sealed secrets of users after `after`, in the order of their ids.
pub async fn sealed_after(
    on: impl Into<On<'_>>,
    after: UserId,
) -> Result<Vec<(UserId, Vec<u8>)>, StoreError> {
    let rows: Vec<(Uuid, Vec<u8>)> = Q::new(SEALED).bind(after).all(on).await?;
    Ok(rows.into_iter().map(|(user, sealed)| (UserId(user), sealed)).collect())
}

/// Replaces a sealed secret by the same one sealed anew, unless the user has changed it meanwhile.
pub async fn reseal(tx: &mut Tx, user: UserId, old: &[u8], new: &[u8]) -> Result<(), StoreError> {
    Q::new(RESEAL_TOTP).bind(new).bind(user).bind(old).run(tx).await.map(|_| ())
}

/// The user's wrong codes.
pub async fn wrong_codes(on: impl Into<On<'_>>, user: UserId) -> Result<WrongCodes, StoreError> {
    let row: Option<WrongRow> = Q::new(WRONG).bind(user).optional(on).await?;
    Ok(row.map_or_else(WrongCodes::default, |row| WrongCodes {
        in_a_row: number(row.wrong_in_a_row),
        in_window: number(row.wrong_in_window),
        window_began_at: row.window_began_at.map(Ts::from),
    }))
}

/// Replaces their number.
pub async fn set_wrong_codes(tx: &mut Tx, user: UserId, wrong: WrongCodes) -> Result<(), StoreError> {
    ensure(tx, user).await?;
    let q = Q::new(SET_WRONG)
        .bind(stored(wrong.in_a_row))
        .bind(stored(wrong.in_window))
        .bind(wrong.window_began_at)
        .bind(user);
    q.run(tx).await.map(|_| ())
}

/// Begins the grace period, or with none forgets it.
pub async fn set_grace(tx: &mut Tx, user: UserId, from: Option<Ts>) -> Result<(), StoreError> {
    ensure(tx, user).await?;
    Q::new(SET_GRACE).bind(from).bind(user).run(tx).await.map(|_| ())
}

/// Replaces the user's recovery codes by these digests.
pub async fn set_recovery_codes(tx: &mut Tx, user: UserId, hashes: &[Vec<u8>]) -> Result<(), StoreError> {
    Q::new(FORGET_CODES).bind(user).run(&mut *tx).await?;
    for hash in hashes {
        Q::new(ADD_CODE).bind(user).bind(hash.clone()).run(&mut *tx).await?;
    }
    Ok(())
}

/// Uses a recovery code up. False when there is no such code.
pub async fn use_recovery_code(tx: &mut Tx, user: UserId, hash: &[u8]) -> Result<bool, StoreError> {
    Ok(Q::new(USE_CODE).bind(user).bind(hash).run(tx).await? > 0)
}

/// How many recovery codes are left.
pub async fn recovery_codes_left(on: impl Into<On<'_>>, user: UserId) -> Result<u64, StoreError> {
    Q::new(COUNT_CODES).bind(user).count(on).await
}

/// Removes everything that the user has beside their password, and the count of wrong codes.
pub async fn forget(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    passkeys::forget(&mut *tx, user).await?;
    Q::new(FORGET_CODES).bind(user).run(&mut *tx).await?;
    Q::new(FORGET).bind(user).run(tx).await.map(|_| ())
}

/// The requirement that an organization has of its own.
pub async fn requirement(on: impl Into<On<'_>>, id: OrgId) -> Result<Option<Requirement>, StoreError> {
    let row: Option<(Uuid, String, TsCodec)> = Q::new(REQUIREMENT).bind(id).optional(on).await?;
    row.map(|(id, set_by, set_at)| {
        Ok(Requirement { organization: OrgId(id), set_by: parse_type(&set_by)?, set_at: set_at.0 })
    })
    .transpose()
}

/// Sets it.
pub async fn require(tx: &mut Tx, requirement: Requirement) -> Result<(), StoreError> {
    let q = Q::new(REQUIRE)
        .bind(requirement.organization)
        .bind(requirement.set_by.as_str())
        .bind(requirement.set_at);
    q.run(tx).await.map(|_| ())
}

/// Takes it back.
pub async fn take_back(tx: &mut Tx, id: OrgId) -> Result<(), StoreError> {
    Q::new(TAKE_BACK).bind(id).run(tx).await.map(|_| ())
}

/// Whether an organization above this one requires a second factor.
pub async fn is_required_above(on: impl Into<On<'_>>, id: OrgId) -> Result<bool, StoreError> {
    Ok(Q::new(REQUIRED_ABOVE).bind(id).count(on).await? > 0)
}
