//! Proofs of a second factor, with limited failures (spec: openid-provider#second-factors).

use super::{is_on, passkeys, recovery_codes, totp};
use crate::Identity;
use bailiwick_domain::{Result, SignInMethod, Ts, UserId};
use bailiwick_events::mail::{self, FactorChange};
use bailiwick_store::{
    Tx,
    factors::{self, WrongCodes, passkeys::Passkey},
};
use std::time::Duration;
use uuid::Uuid;

/// Wrong codes of an application within [`WINDOW`] after which none is checked for a while.
const WRONG_IN_WINDOW: u64 = 10;
const WINDOW: Duration = Duration::from_secs(15 * 60);

/// Wrong codes in a row after which none is checked any more: only a passkey, a recovery code or a reset helps.
const WRONG_IN_A_ROW: u64 = 100;

/// The outcome of a code. What it changes is in the transaction, which must be committed whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// Right, as this method.
    Right(SignInMethod),
    /// Wrong, or used before.
    Wrong,
    /// Not looked at, after too many wrong ones.
    TooMany {
        /// When to come back.
        retry_after: Duration,
    },
    /// Not looked at, and never again until another factor was used.
    Exhausted,
}

/// Checks a code of the user's application or one of their recovery codes, and counts it when it is wrong. The caller
/// has locked the user for a change, so all processes count together.
pub(crate) async fn code(
    service: &Identity,
    tx: &mut Tx,
    user: UserId,
    typed: &str,
    now: Ts,
) -> Result<Checked> {
    if !totp::is_code(typed) {
        // A recovery code cannot be guessed, so a wrong one is not counted, and a right one works when codes do not.
        if recovery_codes::take(tx, user, typed).await? {
            mail::second_factors_changed(&service.events, tx, user, FactorChange::RecoveryCodeUsed).await?;
            factors::set_wrong_codes(tx, user, WrongCodes::default()).await?;
            return Ok(Checked::Right(SignInMethod::RecoveryCode));
        }
        return Ok(Checked::Wrong);
    }
    let wrong = in_window(factors::wrong_codes(&mut *tx, user).await?, now);
    if wrong.in_a_row >= WRONG_IN_A_ROW {
        return Ok(Checked::Exhausted);
    }
    if let Some(began_at) = wrong.window_began_at.filter(|_| wrong.in_window >= WRONG_IN_WINDOW) {
        return Ok(Checked::TooMany { retry_after: began_at.plus(WINDOW).since(now) });
    }
    if let Some(application) = factors::totp(&mut *tx, user).await?
        && let Some(step) = totp::fresh_step(service, user, &application, typed, now)?
    {
        factors::use_totp(tx, user, step, now).await?;
        factors::set_wrong_codes(tx, user, WrongCodes::default()).await?;
        return Ok(Checked::Right(SignInMethod::Totp));
    }
    let counted = WrongCodes {
        in_a_row: wrong.in_a_row + 1,
        in_window: wrong.in_window + 1,
        window_began_at: wrong.window_began_at.or(Some(now)),
    };
    factors::set_wrong_codes(tx, user, counted).await?;
    Ok(Checked::Wrong)
}

/// The counted wrong codes without those that are too old.
fn in_window(wrong: WrongCodes, now: Ts) -> WrongCodes {
    match wrong.window_began_at {
        Some(began_at) if began_at.plus(WINDOW) > now => wrong,
        _ => WrongCodes { in_window: 0, window_began_at: None, ..wrong },
    }
}

/// A passkey that a browser says it has used, and its answer.
pub(crate) struct ShownPasskey {
    answer: passkeys::Answer,
    passkey: Passkey,
}

impl ShownPasskey {
    /// The user of the passkey.
    pub(crate) fn user(&self) -> UserId {
        self.passkey.user_id
    }
}

/// The passkey that an answer names; none when it names none of this service.
pub(crate) async fn shown_passkey(service: &Identity, answer: &str) -> Result<Option<ShownPasskey>> {
    let Some(answer) = passkeys::Answer::read(answer.as_bytes()).filter(|_| is_on(service)) else {
        return Ok(None);
    };
    let stored = factors::passkeys::by_credential(&service.platform.db, answer.credential_id()).await?;
    Ok(stored.map(|passkey| ShownPasskey { answer, passkey }))
}

/// Checks the answer and notes the use. The caller has locked the user for a change.
pub(crate) async fn passkey(
    service: &Identity,
    tx: &mut Tx,
    subject: Uuid,
    state: &str,
    shown: &ShownPasskey,
    now: Ts,
) -> Result<bool> {
    // Read again under the lock: its counter may have moved, or it is gone.
    let locked = factors::passkeys::by_credential(&mut *tx, &shown.passkey.credential_id).await?;
    let Some(locked) = locked.filter(|locked| locked.id == shown.passkey.id) else { return Ok(false) };
    let Some(changed) = shown.answer.check(service, subject, state, &locked) else { return Ok(false) };
    factors::passkeys::note_use(tx, locked.id, &changed, now).await?;
    factors::set_wrong_codes(tx, locked.user_id, WrongCodes::default()).await?;
    Ok(true)
}
