//! Second factors (spec: account#second-factors, organizations#second-factor).

use bailiwick_directory::organizations::SecondFactorPolicy;
use bailiwick_domain::{OrgType, Ts, validate::MAX_NAME_CHARS};
use bailiwick_identity::factors::{
    Offer, Passkey, Totp, TotpOffer,
    account::{NewTotp, Overview},
    account_passkeys::NewPasskey,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A passkey of the caller. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyOutput {
    /// Unique identifier of the passkey.
    pub id: String,
    /// Name that its owner has given it.
    pub name: String,
    /// When the passkey was added.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the passkey was last used; null if never.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Ts>,
}

impl From<Passkey> for PasskeyOutput {
    fn from(passkey: Passkey) -> PasskeyOutput {
        PasskeyOutput {
            id: passkey.id.to_string(),
            name: passkey.name,
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }
}

/// The caller's authenticator application. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthenticatorOutput {
    /// When the application was added.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When one of its codes was last used; null if never.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Ts>,
}

impl From<Totp> for AuthenticatorOutput {
    fn from(totp: Totp) -> AuthenticatorOutput {
        AuthenticatorOutput { created_at: totp.created_at, last_used_at: totp.last_used_at }
    }
}

/// The caller's second factors. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecondFactors {
    /// Whether the caller must have a second factor.
    pub is_required: bool,
    /// Until when the caller may sign in without a factor that is required but missing; null when no such time runs.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub grace_until: Option<Ts>,
    /// Whether browsers offer passkeys at the address of this service.
    pub are_passkeys_possible: bool,
    /// The passkeys, oldest first.
    pub passkeys: Vec<PasskeyOutput>,
    /// The authenticator application; null when there is none.
    #[schema(required = true)]
    pub totp: Option<AuthenticatorOutput>,
    /// Number of recovery codes that are left, of ten.
    pub recovery_codes_left: u64,
}

impl From<Overview> for SecondFactors {
    fn from(overview: Overview) -> SecondFactors {
        SecondFactors {
            is_required: overview.is_required,
            grace_until: overview.grace_until,
            are_passkeys_possible: overview.are_passkeys_possible,
            passkeys: overview.passkeys.into_iter().map(PasskeyOutput::from).collect(),
            totp: overview.totp.map(AuthenticatorOutput::from),
            recovery_codes_left: overview.recovery_codes_left,
        }
    }
}

/// What a browser needs to create a passkey.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyOffer {
    /// Options for `PublicKeyCredential.parseCreationOptionsFromJSON` (Web Authentication Level 3).
    #[schema(value_type = Object)]
    pub options: Value,
    /// Opaque value to send back with the passkey, within ten minutes.
    pub state: String,
}

impl From<Offer> for PasskeyOffer {
    fn from(offer: Offer) -> PasskeyOffer {
        PasskeyOffer { options: offer.options, state: offer.state }
    }
}

/// A passkey to add.
// Secrets do not print, so there is no `Debug`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasskeyInput {
    /// The `state` of the offer.
    #[schema(required = true, nullable = false)]
    pub state: Option<String>,
    /// The credential that the browser created, as `PublicKeyCredential.toJSON` gives it.
    #[schema(required = true, nullable = false, value_type = Object)]
    pub credential: Option<Value>,
    /// Name for the passkey; `Passkey` by default.
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
}

impl From<PasskeyInput> for NewPasskey {
    fn from(input: PasskeyInput) -> NewPasskey {
        NewPasskey {
            state: input.state.unwrap_or_default(),
            credential: input.credential.unwrap_or_default(),
            name: input.name.unwrap_or_default(),
        }
    }
}

/// A new passkey, and recovery codes if the user had none before.
// Secrets do not print, so there is no `Debug`.
#[derive(Serialize, ToSchema)]
pub struct NewPasskeyOutput {
    /// The passkey.
    #[serde(flatten)]
    pub passkey: PasskeyOutput,
    /// New recovery codes, shown only this once. Empty if the user had some already.
    pub recovery_codes: Vec<String>,
}

/// A new name for a passkey.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasskeyName {
    /// The new name of the passkey.
    #[schema(required = true, nullable = false, min_length = 1)]
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
}

/// A secret for an authenticator application.
// Secrets do not print, so there is no `Debug`.
#[derive(Serialize, ToSchema)]
pub struct AuthenticatorOffer {
    /// The secret in Base32, for typing.
    pub secret: String,
    /// The secret as an `otpauth` address.
    #[schema(format = "uri")]
    pub uri: String,
    /// That address as a QR code, an SVG image.
    pub qr_code: String,
    /// Opaque value to send back with the first code, within ten minutes.
    pub state: String,
}

impl From<TotpOffer> for AuthenticatorOffer {
    fn from(offer: TotpOffer) -> AuthenticatorOffer {
        AuthenticatorOffer {
            secret: offer.secret,
            uri: offer.uri,
            qr_code: offer.qr_code,
            state: offer.state,
        }
    }
}

/// An authenticator application to add. Replaces the one before.
// Secrets do not print, so there is no `Debug`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AuthenticatorInput {
    /// The `state` of the offer.
    #[schema(required = true, nullable = false)]
    pub state: Option<String>,
    /// The code that the application shows at present.
    #[schema(required = true, nullable = false)]
    pub code: Option<String>,
}

impl From<AuthenticatorInput> for NewTotp {
    fn from(input: AuthenticatorInput) -> NewTotp {
        NewTotp { state: input.state.unwrap_or_default(), code: input.code.unwrap_or_default() }
    }
}

/// Recovery codes, to sign in with when the other factors are lost.
// Secrets do not print, so there is no `Debug`.
#[derive(Serialize, ToSchema)]
pub struct RecoveryCodes {
    /// Ten codes, each usable once and shown only this once. Empty if codes from before are still valid.
    pub recovery_codes: Vec<String>,
}

/// Whether an organization is to require a second factor.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SecondFactorRequirementInput {
    /// Whether the users of the organization and everything below it must have a second factor.
    #[schema(required = true, nullable = false)]
    pub required: Option<bool>,
}

/// Whether an organization requires a second factor. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecondFactorRequirement {
    /// Whether the organization itself requires a second factor of its users and those below it.
    pub required: bool,
    /// Level of the user who set the requirement: `owner`, `distributor`, `reseller` or `customer`. Only users at that
    /// level or above can withdraw it. Null when there is none.
    #[schema(required = true, extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::as_str)))))]
    pub set_by: Option<&'static str>,
    /// When the requirement was set; null when there is none.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub set_at: Option<Ts>,
    /// Whether an organization above requires a second factor already.
    pub is_required_above: bool,
    /// Whether the caller may change the requirement.
    pub may_change: bool,
}

impl From<SecondFactorPolicy> for SecondFactorRequirement {
    fn from(policy: SecondFactorPolicy) -> SecondFactorRequirement {
        SecondFactorRequirement {
            required: policy.own.is_some(),
            set_by: policy.own.map(|own| own.set_by.as_str()),
            set_at: policy.own.map(|own| own.set_at),
            is_required_above: policy.is_required_above,
            may_change: policy.may_change,
        }
    }
}
