//! Second factors (spec: account#second-factors, organizations#second-factor).

use bailiwick_directory::organizations::SecondFactorPolicy;
use bailiwick_domain::Ts;
use bailiwick_identity::factors::{
    Offer, Passkey, Totp, TotpOffer,
    account::{NewTotp, Overview},
    account_passkeys::NewPasskey,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A passkey. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyOutput {
    /// Id.
    pub id: String,
    /// The name that its owner has given it.
    pub name: String,
    /// When it was added.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Its last use.
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

/// An authenticator application.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthenticatorOutput {
    /// When it was added.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Its last use.
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
    /// Whether one is required of the caller.
    pub is_required: bool,
    /// Until when the caller may sign in without one that is required.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub grace_until: Option<Ts>,
    /// Whether browsers offer passkeys at the address of this service.
    pub are_passkeys_possible: bool,
    /// The oldest first.
    pub passkeys: Vec<PasskeyOutput>,
    /// The authenticator application, if there is one.
    #[schema(required = true)]
    pub totp: Option<AuthenticatorOutput>,
    /// How many of the ten recovery codes are left.
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

/// What a browser needs to make a passkey.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyOffer {
    /// For `PublicKeyCredential.parseCreationOptionsFromJSON` (Web Authentication Level 3).
    #[schema(value_type = Object)]
    pub options: Value,
    /// To be sent back with the passkey, within ten minutes.
    pub state: String,
}

impl From<Offer> for PasskeyOffer {
    fn from(offer: Offer) -> PasskeyOffer {
        PasskeyOffer { options: offer.options, state: offer.state }
    }
}

/// A passkey to add. Never printed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasskeyInput {
    /// The state of the offer.
    #[schema(required = true, nullable = false)]
    pub state: Option<String>,
    /// The browser's answer, as `PublicKeyCredential.toJSON` gives it.
    #[schema(required = true, nullable = false, value_type = Object)]
    pub credential: Option<Value>,
    /// A name for it; `Passkey` when absent.
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

/// A new passkey. Never printed.
#[derive(Serialize, ToSchema)]
pub struct NewPasskeyOutput {
    /// The passkey.
    #[serde(flatten)]
    pub passkey: PasskeyOutput,
    /// The recovery codes if there were none before, shown only now.
    pub recovery_codes: Vec<String>,
}

/// A passkey's new name.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasskeyName {
    /// The name.
    #[schema(required = true, nullable = false)]
    pub name: Option<String>,
}

/// A secret for an authenticator application. Never printed.
#[derive(Serialize, ToSchema)]
pub struct AuthenticatorOffer {
    /// The secret in Base32, to be typed.
    pub secret: String,
    /// The same as an `otpauth` address.
    pub uri: String,
    /// That address as a QR code, an SVG image.
    pub qr_code: String,
    /// To be sent back with the first code, within ten minutes.
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

/// An authenticator application to add. Never printed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct AuthenticatorInput {
    /// The state of the offer.
    #[schema(required = true, nullable = false)]
    pub state: Option<String>,
    /// The present code of the application.
    #[schema(required = true, nullable = false)]
    pub code: Option<String>,
}

impl From<AuthenticatorInput> for NewTotp {
    fn from(input: AuthenticatorInput) -> NewTotp {
        NewTotp { state: input.state.unwrap_or_default(), code: input.code.unwrap_or_default() }
    }
}

/// Recovery codes. Never printed.
#[derive(Serialize, ToSchema)]
pub struct RecoveryCodes {
    /// Ten, each usable once, shown only now; none where those of before still hold.
    pub recovery_codes: Vec<String>,
}

/// Whether an organization requires a second factor of its users and of those below it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SecondFactorRequirementInput {
    /// Whether it does.
    #[schema(required = true, nullable = false)]
    pub required: Option<bool>,
}

/// What an organization requires. All fields are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecondFactorRequirement {
    /// Whether the organization itself requires a second factor of its users and of those below it.
    pub required: bool,
    /// The level of the user who has set that: nobody below that level can take it back.
    #[schema(required = true)]
    pub set_by: Option<&'static str>,
    /// When.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub set_at: Option<Ts>,
    /// Whether an organization above requires one already.
    pub is_required_above: bool,
    /// Whether the caller may change it.
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
