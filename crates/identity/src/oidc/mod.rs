//! Embedded OpenID provider (spec: openid-provider#endpoints): authenticates users by password for registered clients.
//!
//! [`authorize`] judges a request and either answers it or stores it as an interaction. [`sign_in`] completes the
//! interaction; [`consent`] asks the user what third parties may learn; [`redirect`] leads back. [`tokens`] exchanges
//! codes for tokens, renews and revokes them; [`claims`] builds their claims. [`login`] is the same sign-in without a
//! client; [`recovery`] handles the links in mails. Everything a client or a browser holds is stored hashed. Refusals
//! are [`ProviderError`]s: the protocol's errors for a fault of the client, or a fault of ours.

pub mod authorize;
pub mod claims;
pub mod clients;
pub mod consent;
mod error;
pub mod keys;
pub mod login;
mod loopback;
pub mod recovery;
pub mod redirect;
pub mod scripted_sign_in;
pub mod second_factor;
pub mod sign_in;
pub mod sign_out;
pub mod tokens;

pub(crate) use clients::names;
pub use clients::{Client, ClientCredentials};
pub use error::{Code, OAuthError, ProviderError};

use crate::Identity;
use bailiwick_domain::{LoginId, Result, SignInMethods, Ts, UserId};
use bailiwick_platform::keys::token_digest;
use bailiwick_store::{
    identities,
    oidc::{self, tokens::ProviderTokenKind},
};
use std::time::Duration;

/// How long a user may take to sign in.
pub const INTERACTION: Duration = Duration::from_secs(3600);

/// Longest accepted token, code or cookie, in bytes; ours are far shorter.
const MAX_SECRET_BYTES: usize = 4096;

/// The subject of an access token of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSubject {
    pub user_id: UserId,
    /// The browser login of the token; chains exchanged from the token end with it.
    pub login_id: LoginId,
    /// When the person had last signed in as the grant of the token was made.
    pub signed_in_at: Ts,
    /// How.
    pub methods: SignInMethods,
    /// The client of the token.
    pub client_id: String,
    /// Whether that client is first-party: only its tokens can be exchanged.
    pub first_party: bool,
}

/// The subject of a live access token. None when the token is unknown, expired, revoked or of a client that is no
/// longer registered.
///
/// The result does not include the user's state: the caller must read it. A suspension ends the login of a user, but
/// their tokens are still recognized here during it, so the refusal can give the reason. A caller that acts on the
/// result holds the login (`store::oidc::logins::hold`) in the same transaction.
pub async fn subject_of_access_token(service: &Identity, token: &str) -> Result<Option<ProviderSubject>> {
    let now = service.platform.now();
    let Some(token) = find_token(service, token).await? else { return Ok(None) };
    if token.kind != ProviderTokenKind::Access || token.is_revoked || token.expires_at <= now {
        return Ok(None);
    }
    let Some(client) = clients::find(&service.settings, &token.grant.client_id) else { return Ok(None) };
    let grant = token.grant;
    if grant.is_ended {
        let user = identities::get(&service.platform.db, grant.user_id).await?;
        if user.is_none_or(|user| user.standing.suspension().is_none()) {
            return Ok(None);
        }
    }
    Ok(Some(ProviderSubject {
        user_id: grant.user_id,
        login_id: grant.login_id,
        signed_in_at: grant.auth_at,
        methods: grant.methods,
        client_id: grant.client_id,
        first_party: client.is_first_party(),
    }))
}

/// The user of a live access token of any client that still admits them; otherwise as [`subject_of_access_token`].
pub(crate) async fn user_of_access_token(service: &Identity, token: &str) -> Result<Option<UserId>> {
    let Some(subject) = subject_of_access_token(service, token).await? else { return Ok(None) };
    if subject.first_party {
        return Ok(Some(subject.user_id));
    }
    let client = clients::find(&service.settings, &subject.client_id);
    let user = identities::get(&service.platform.db, subject.user_id).await?;
    let admitted = client.zip(user).is_some_and(|(client, user)| consent::admits(service, &client, &user));
    Ok(admitted.then_some(subject.user_id))
}

/// Removes expired rows, and signing keys without live tokens; returns how many rows. For the housekeeping worker.
pub async fn purge_expired(service: &Identity) -> Result<u64> {
    let now = service.platform.now();
    let mut tx = service.platform.db.begin_relaxed().await?;
    let mut purged = oidc::purge(&mut tx, now).await?;
    purged += oidc::keys::purge(&mut tx, now.minus(keys::signed_life(service))).await?;
    tx.commit().await?;
    Ok(purged)
}

/// The stored token behind a string a client sent.
async fn find_token(service: &Identity, token: &str) -> Result<Option<oidc::tokens::Token>> {
    if token.is_empty() || token.len() > MAX_SECRET_BYTES {
        return Ok(None);
    }
    Ok(oidc::tokens::get(&service.platform.db, &token_digest(token)).await?)
}
