//! Passkeys: discoverable credentials of Web Authentication Level 3 whose authenticator verifies the person.
//!
//! A passkey belongs to the host name of `http.public_url`. Browsers offer them over https, and over http for
//! `localhost`.

use super::challenge::{self, Offer};
use crate::Identity;
use bailiwick_domain::{Error, Result, UserId};
use bailiwick_store::{factors::passkeys::Passkey, identities::Identified};
use serde_json::Value;
use std::num::NonZeroU32;
use url::{Host, Url};
use uuid::Uuid;
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
    bin::{Decode, Encode},
    request::{
        AsciiDomain, ExtensionInfo, PublicKeyCredentialDescriptor, RpId,
        auth::AuthenticationVerificationOptions,
        register::{
            CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle16,
        },
    },
    response::{
        AuthTransports, CredentialId,
        register::{DynamicState, StaticState},
    },
};

/// The purposes that states are sealed for.
const ADD: &str = "passkey to add";
const PROVE: &str = "passkey to prove";

/// How long a browser may ask the person, in milliseconds: as long as the offer counts.
const TIMEOUT: NonZeroU32 = match NonZeroU32::new(challenge::LIFE_MILLISECONDS) {
    Some(timeout) => timeout,
    None => NonZeroU32::MIN,
};

/// Longest answer of a browser, in bytes.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// Whom the browser talks to.
struct Site {
    id: RpId,
    origin: String,
}

/// The site that passkeys here belong to; none where browsers offer none.
fn site(service: &Identity) -> Option<Site> {
    let url = Url::parse(&service.settings.public_url).ok()?;
    let Host::Domain(host) = url.host()? else { return None };
    let is_local = host == "localhost" || host.ends_with(".localhost");
    if url.scheme() != "https" && !is_local {
        return None;
    }
    let id = RpId::Domain(AsciiDomain::try_from(host.to_owned()).ok()?);
    Some(Site { id, origin: url.origin().ascii_serialization() })
}

/// Whether browsers offer passkeys for this service.
pub fn are_possible(service: &Identity) -> bool {
    site(service).is_some()
}

fn unavailable() -> Error {
    Error::forbidden("passkeys are not available at this address")
}

fn handle(user: UserId) -> UserHandle16 {
    match UserHandle16::decode(user.0.into_bytes()) {
        Ok(handle) => handle,
    }
}

/// What a browser needs to make a passkey for the user. `subject`: see [`challenge::seal`].
///
/// # Errors
/// 403 where browsers offer none.
pub(crate) fn offer_to_add(
    service: &Identity,
    user: &Identified,
    present: &[Passkey],
    subject: Uuid,
) -> Result<Offer> {
    let site = site(service).ok_or_else(unavailable)?;
    let id = handle(user.id);
    let entity = PublicKeyCredentialUserEntity {
        name: user
            .username
            .as_str()
            .try_into()
            .map_err(|_| Error::internal("a user name that is no name"))?,
        id: &id,
        // A name that the library does not take is left out.
        display_name: user.name.as_str().try_into().ok(),
    };
    let registered = present.iter().filter_map(|passkey| {
        let id = CredentialId::decode(passkey.credential_id.clone()).ok()?;
        // Browsers try every way to an authenticator where none is named.
        Some(PublicKeyCredentialDescriptor { id, transports: AuthTransports::decode(0).ok()? })
    });
    let mut options = PublicKeyCredentialCreationOptions::passkey(&site.id, entity, registered.collect());
    // Asked for, but not insisted on: browsers refuse authenticators without this extension then, such as those of many
    // devices.
    options.timeout = TIMEOUT;
    options.extensions.cred_protect =
        CredProtect::UserVerificationRequired(ExtensionInfo::AllowDontEnforceValue);
    let (state, client) = options.start_ceremony().map_err(Error::internal)?;
    let state = state.encode().map_err(Error::internal)?;
    Ok(Offer {
        options: serde_json::to_value(&client).map_err(Error::internal)?,
        state: challenge::seal(service, ADD, subject, state)?,
    })
}

/// A passkey that a browser has made.
pub(super) struct Made {
    pub(super) credential_id: Vec<u8>,
    pub(super) public_key: Vec<u8>,
    pub(super) state: Vec<u8>,
}

/// Checks the answer of a browser to [`offer_to_add`]. None when it does not hold.
pub(super) fn made(service: &Identity, subject: Uuid, state: &str, answer: &[u8]) -> Option<Made> {
    let site = site(service)?;
    let state: Vec<u8> = challenge::open(service, ADD, subject, state)?;
    let state = RegistrationServerState::<16>::decode(&state).ok()?;
    if answer.len() > MAX_ANSWER_BYTES {
        return None;
    }
    let registration = Registration::from_json_relaxed(answer).ok()?;
    let origins = [site.origin.as_str()];
    let options = RegistrationVerificationOptions::<'_, '_, &str, &str> {
        allowed_origins: &origins,
        error_on_unsolicited_extensions: false,
        ..RegistrationVerificationOptions::default()
    };
    let credential = match state.verify(&site.id, &registration, &options) {
        Ok(credential) => credential,
        Err(why) => {
            tracing::info!(%why, "a new passkey was refused");
            return None;
        }
    };
    let (Ok(public_key), Ok(dynamic)) =
        (credential.static_state().encode(), credential.dynamic_state().encode());
    Some(Made { credential_id: credential.id().as_ref().to_vec(), public_key, state: dynamic.to_vec() })
}

/// What a browser needs to prove one of its passkeys. `subject`: the waiting sign-in.
pub(crate) fn offer_to_prove(service: &Identity, subject: Uuid) -> Result<Option<Offer>> {
    let Some(site) = site(service) else { return Ok(None) };
    let mut options = DiscoverableCredentialRequestOptions::passkey(&site.id);
    options.0.timeout = TIMEOUT;
    let (state, client) = options.start_ceremony().map_err(Error::internal)?;
    let state = state.encode().map_err(Error::internal)?;
    let state: &[u8] = state.as_ref();
    Ok(Some(Offer {
        options: serde_json::to_value(&client).map_err(Error::internal)?,
        state: challenge::seal(service, PROVE, subject, state)?,
    }))
}

/// The answer of a browser to [`offer_to_prove`].
pub(super) struct Answer(DiscoverableAuthentication<16>);

impl Answer {
    /// Reads it; none when it is none.
    pub(super) fn read(answer: &[u8]) -> Option<Answer> {
        if answer.len() > MAX_ANSWER_BYTES {
            return None;
        }
        DiscoverableAuthentication::from_json_relaxed(answer).ok().map(Answer)
    }

    /// The passkey it names.
    pub(super) fn credential_id(&self) -> &[u8] {
        let id: CredentialId<&[u8]> = self.0.raw_id();
        id.into_inner()
    }

    /// The state of the passkey after this use; none when the answer does not hold.
    pub(super) fn check(
        &self,
        service: &Identity,
        subject: Uuid,
        state: &str,
        passkey: &Passkey,
    ) -> Option<Vec<u8>> {
        let site = site(service)?;
        let state: Vec<u8> = challenge::open(service, PROVE, subject, state)?;
        let state = DiscoverableAuthenticationServerState::decode(&state).ok()?;
        let user = handle(passkey.user_id);
        let dynamic: [u8; 7] = passkey.state.as_slice().try_into().ok()?;
        let mut credential = AuthenticatedCredential::new(
            CredentialId::decode(passkey.credential_id.as_slice()).ok()?,
            &user,
            StaticState::decode(passkey.public_key.as_slice()).ok()?,
            DynamicState::decode(dynamic).ok()?,
        )
        .ok()?;
        let origins = [site.origin.as_str()];
        let options = AuthenticationVerificationOptions::<'_, '_, &str, &str> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..AuthenticationVerificationOptions::default()
        };
        if let Err(why) = state.verify(&site.id, &self.0, &mut credential, &options) {
            tracing::info!(%why, "a passkey was refused");
            return None;
        }
        let Ok(dynamic) = credential.dynamic_state().encode();
        Some(dynamic.to_vec())
    }
}

/// The name of a passkey as it is kept: trimmed, with a default.
pub(super) fn name_of(name: &str) -> &str {
    let name = name.trim();
    if name.is_empty() { "Passkey" } else { name }
}

/// A browser's answer as it came in a body.
pub(super) fn bytes_of(answer: &Value) -> Vec<u8> {
    answer.to_string().into_bytes()
}
