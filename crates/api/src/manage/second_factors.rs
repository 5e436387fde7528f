//! Second factors: the caller's own, those of a user who has lost them, and what an organization requires (spec:
//! account#second-factors, users#second-factors, organizations#second-factor).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, PathId, Service, Who},
    wire::second_factors::{
        AuthenticatorInput, AuthenticatorOffer, NewPasskeyOutput, PasskeyInput, PasskeyName, PasskeyOffer,
        RecoveryCodes, SecondFactorRequirement, SecondFactorRequirementInput, SecondFactors,
    },
};
use bailiwick_directory::{Directory, organizations, users};
use bailiwick_domain::{OrgId, UserId};
use bailiwick_events::mail;
use bailiwick_identity::{
    Identity,
    factors::{account, account_passkeys},
};
use uuid::Uuid;

/// `GET /me/second-factors`.
pub async fn show(Service(identity): Service<Identity>, Who(caller): Who) -> Outcome<Answer<SecondFactors>> {
    let overview = account::overview(&identity, &caller).await?;
    Ok(Answer::ok("second factors retrieved successfully", overview.into()))
}

/// `POST /me/second-factors/passkeys/options`.
pub async fn offer_passkey(
    Service(identity): Service<Identity>,
    Who(caller): Who,
) -> Outcome<Answer<PasskeyOffer>> {
    let offer = account_passkeys::offer(&identity, &caller).await?;
    Ok(Answer::ok("passkey options created successfully", offer.into()))
}

/// `POST /me/second-factors/passkeys`.
pub async fn add_passkey(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<NewPasskeyOutput>> {
    let body = || Ok(body.parse_request::<PasskeyInput>()?.into());
    let (passkey, recovery_codes) = account_passkeys::add(&identity, &caller, &request, body).await?;
    mail::wake(&identity.events);
    let output = NewPasskeyOutput { passkey: passkey.into(), recovery_codes };
    Ok(Answer::created("passkey added successfully", output))
}

/// `PUT /me/second-factors/passkeys/{id}`.
pub async fn rename_passkey(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<Uuid>,
    body: JsonBody,
) -> Outcome<Answer<()>> {
    let body = || Ok(body.parse_request::<PasskeyName>()?.name.unwrap_or_default());
    account_passkeys::rename(&identity, &caller, &request, id, body).await?;
    Ok(Answer::ok("passkey renamed successfully", ()))
}

/// `DELETE /me/second-factors/passkeys/{id}`.
pub async fn remove_passkey(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<Uuid>,
) -> Outcome<Answer<()>> {
    account_passkeys::remove(&identity, &caller, &request, id).await?;
    Ok(Answer::ok("passkey removed successfully", ()))
}

/// `POST /me/second-factors/totp/options`.
pub async fn offer_totp(
    Service(identity): Service<Identity>,
    Who(caller): Who,
) -> Outcome<Answer<AuthenticatorOffer>> {
    let offer = account::offer_totp(&identity, &caller, None).await?;
    Ok(Answer::ok("authenticator options created successfully", offer.into()))
}

/// `POST /me/second-factors/totp`.
pub async fn add_totp(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<RecoveryCodes>> {
    let body = || Ok(body.parse_request::<AuthenticatorInput>()?.into());
    let recovery_codes = account::add_totp(&identity, &caller, &request, body).await?;
    mail::wake(&identity.events);
    Ok(Answer::created("authenticator added successfully", RecoveryCodes { recovery_codes }))
}

/// `DELETE /me/second-factors/totp`.
pub async fn remove_totp(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    account::remove_totp(&identity, &caller, &request).await?;
    Ok(Answer::ok("authenticator removed successfully", ()))
}

/// `POST /me/second-factors/recovery-codes`.
pub async fn new_recovery_codes(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
) -> Outcome<Answer<RecoveryCodes>> {
    let recovery_codes = account::new_recovery_codes(&identity, &caller, &request).await?;
    Ok(Answer::created("recovery codes created successfully", RecoveryCodes { recovery_codes }))
}

/// `DELETE /users/{id}/second-factors`.
pub async fn reset(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<UserId>,
) -> Outcome<Answer<()>> {
    users::reset_second_factors(&directory, &caller, &request, id).await?;
    Ok(Answer::ok("second factors reset successfully", ()))
}

/// `GET /organizations/{id}/second-factor`.
pub async fn requirement(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    PathId(id): PathId<OrgId>,
) -> Outcome<Answer<SecondFactorRequirement>> {
    let policy = organizations::second_factor_policy(&directory, &caller, id).await?;
    Ok(Answer::ok("second factor requirement retrieved successfully", policy.into()))
}

/// `PUT /organizations/{id}/second-factor`.
pub async fn require(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    PathId(id): PathId<OrgId>,
    body: JsonBody,
) -> Outcome<Answer<SecondFactorRequirement>> {
    let body = || Ok(body.parse_request::<SecondFactorRequirementInput>()?.required);
    let policy = organizations::require_second_factor(&directory, &caller, &request, id, body).await?;
    Ok(Answer::ok("second factor requirement updated successfully", policy.into()))
}
