//! Authenticator applications: time-based one-time passwords (RFC 6238) with the parameters that every application
//! knows: SHA-1, six digits, thirty seconds.

use super::challenge;
use crate::Identity;
use bailiwick_domain::{Error, Result, Ts, UserId, ports::random};
use bailiwick_store::{factors, identities::Identified};
use qrcode::{EcLevel, QrCode, render::svg};
use totp_rs::{Algorithm, Builder, Totp};
use uuid::Uuid;

/// The purposes that secrets are sealed for.
const OFFER: &str = "authenticator application to add";
const STORED: &str = "authenticator application";

/// Bytes of a secret (RFC 4226, section 4, R6 recommends 160 bits).
const SECRET_BYTES: usize = 20;

/// Steps before and after the present one whose codes count (RFC 6238, section 5.2).
const SKEW: u16 = 1;

/// An application to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TotpOffer {
    /// The secret in Base32, to be typed.
    pub secret: String,
    /// The secret as an `otpauth` address.
    pub uri: String,
    /// That address as a QR code (SVG).
    pub qr_code: String,
    /// To be sent back with the first code; sealed.
    pub state: String,
}

fn application(secret: &[u8], account: &str) -> Result<Totp> {
    // A colon would separate issuer and account.
    let account = account.replace(':', " ");
    Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(6)
        .with_skew(SKEW)
        .with_step_duration(30)
        .with_secret(secret.to_vec())
        .with_account_name(account)
        .with_issuer(Some("Bailiwick"))
        .build()
        .map_err(Error::internal)
}

/// A secret for the user: that of the offer `before`, so that an application that has it already needs no other after a
/// wrong code, else a fresh one. `subject`: see [`challenge::seal`].
pub(crate) fn offer_to_add(
    service: &Identity,
    user: &Identified,
    subject: Uuid,
    before: Option<&str>,
) -> Result<TotpOffer> {
    let offered = before.and_then(|state| challenge::open::<Vec<u8>>(service, OFFER, subject, state));
    let secret = offered.unwrap_or_else(|| random::<SECRET_BYTES>(&*service.platform.entropy).to_vec());
    let application = application(&secret, &user.email)?;
    let uri = application.to_url().map_err(Error::internal)?;
    let code = QrCode::with_error_correction_level(&uri, EcLevel::M).map_err(Error::internal)?;
    let qr_code = code
        .render()
        .min_dimensions(200, 200)
        .dark_color(svg::Color("#000000"))
        .light_color(svg::Color("#ffffff"))
        .build();
    Ok(TotpOffer {
        secret: application.secret().to_base32(),
        uri,
        // Without the XML declaration, so that a page can hold it.
        qr_code: qr_code.split_once("?>").map_or(qr_code.clone(), |(_, svg)| svg.to_owned()),
        state: challenge::seal(service, OFFER, subject, secret)?,
    })
}

/// The application of an offer, if the code is its present one.
pub(super) fn made(
    service: &Identity,
    subject: Uuid,
    state: &str,
    code: &str,
    now: Ts,
) -> Result<Option<factors::Totp>> {
    let Some(secret) = challenge::open::<Vec<u8>>(service, OFFER, subject, state) else { return Ok(None) };
    let Some(step) = step_of(&secret, code, now)? else { return Ok(None) };
    Ok(Some(factors::Totp {
        sealed: service.platform.keys.seal(STORED, &secret, &*service.platform.entropy)?,
        created_at: now,
        last_used_at: None,
        last_step: Some(step),
    }))
}

/// The time step of a code that counts now.
fn step_of(secret: &[u8], code: &str, now: Ts) -> Result<Option<u64>> {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    if !is_code(&code) {
        return Ok(None);
    }
    let now = u64::try_from(now.secs()).unwrap_or_default();
    Ok(application(secret, "account")?.check(&code, now))
}

/// Whether a text has the form of a code: six digits, spaces aside.
pub(super) fn is_code(text: &str) -> bool {
    let mut digits = 0;
    let is_form = text.chars().all(|c| {
        digits += usize::from(c.is_ascii_digit());
        c.is_ascii_digit() || c.is_whitespace()
    });
    is_form && digits == 6
}

/// The time step of a code of the user's application, unless it or a later one was used before. No code is right when
/// the service's secret was given up since: the user needs another factor or a reset.
pub(super) fn fresh_step(
    service: &Identity,
    user: UserId,
    application: &factors::Totp,
    code: &str,
    now: Ts,
) -> Result<Option<u64>> {
    let Ok(secret) = service.platform.keys.open(STORED, &application.sealed) else {
        tracing::warn!(%user, "an authenticator application cannot be opened with the configured secret");
        return Ok(None);
    };
    let step = step_of(&secret, code, now)?;
    Ok(step.filter(|step| application.last_step.is_none_or(|last| *step > last)))
}

/// Seals the secrets of all users with the present key; for `bailiwick keys reseal`. Returns how many could not be
/// opened: their users need a reset.
///
/// # Errors
/// The database's.
pub async fn reseal_all(service: &Identity) -> Result<u64> {
    let (mut after, mut lost) = (UserId(Uuid::nil()), 0);
    loop {
        let page = factors::sealed_after(&service.platform.db, after).await?;
        let Some((last, _)) = page.last() else { return Ok(lost) };
        after = *last;
        let mut tx = service.platform.db.begin().await?;
        for (user, sealed) in &page {
            match service.platform.keys.open(STORED, sealed) {
                Ok(secret) => {
                    let anew = service.platform.keys.seal(STORED, &secret, &*service.platform.entropy)?;
                    factors::reseal(&mut tx, *user, sealed, &anew).await?;
                }
                Err(_) => lost += 1,
            }
        }
        tx.commit().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The secret and the times of RFC 6238, appendix B; its codes have eight digits, of which ours are the last six.
    const RFC: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_rfc_one_step_around_now() {
        for (at, code) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")] {
            for skew in [-30, 0, 30] {
                let step = step_of(RFC, code, Ts::from_secs(at + skew)).unwrap();
                assert_eq!(step, Some(u64::try_from(at).unwrap() / 30), "{at} {skew}");
            }
            assert_eq!(step_of(RFC, code, Ts::from_secs(at + 60)).unwrap(), None);
        }
        assert_eq!(step_of(RFC, "287 082", Ts::from_secs(59)).unwrap(), Some(1));
        for wrong in ["", "28708", "2870822", "28708a", "\u{0662}87082"] {
            assert_eq!(step_of(RFC, wrong, Ts::from_secs(59)).unwrap(), None, "{wrong}");
        }
    }
}
