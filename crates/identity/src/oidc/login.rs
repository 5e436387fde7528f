//! Signing in without a client: the address that the first start prints.

use super::{
    authorize::{self, Browser},
    consent::{self, Allowed},
    sign_in::{form_token, made_form_token},
};
use crate::{Identity, TokenRequest};
use bailiwick_domain::Result;
use bailiwick_store::identities::Identified;
use uuid::Uuid;

/// The signed-in user, as shown to that user only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Display name.
    pub name: String,
    /// E-mail as given.
    pub email: String,
    /// Name of the user's organization.
    pub organization: String,
}

impl Person {
    pub(super) fn of(user: Identified) -> Person {
        Person { name: user.name, email: user.email, organization: user.organization.name }
    }
}

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountPage {
    /// A live login.
    SignedIn {
        /// The signed-in user.
        person: Person,
        /// The user's consents to third-party applications.
        allowed: Vec<Allowed>,
        /// To be sent back with the form that signs out.
        form_token: String,
    },
    /// No user is signed in; a sign-in is stored that leads back here.
    SignIn {
        /// Of the waiting sign-in.
        interaction: Uuid,
        /// The browser's cookie.
        browser: String,
    },
}

/// `{issuer}/login`.
pub fn address(service: &Identity) -> String {
    format!("{}/login", service.settings.provider_issuer())
}

/// The user signed in in this browser, or a new sign-in.
pub async fn land(service: &Identity, counted: TokenRequest, browser: &Browser) -> Result<AccountPage> {
    let now = service.platform.now();
    let live = counted.beside(authorize::live_login(service, browser, now)).await?;
    if let Some(((_, user), cookie)) = live.zip(browser.login.as_deref()) {
        let allowed = consent::allowed(service, user.id).await?;
        let form_token = form_token(service, cookie, Uuid::nil());
        return Ok(AccountPage::SignedIn { person: Person::of(user), allowed, form_token });
    }
    let (interaction, browser) = authorize::store(service, None, browser, now).await?;
    Ok(AccountPage::SignIn { interaction, browser })
}

/// Whether the form that signs out was made for this browser's login.
pub fn is_form_token(service: &Identity, browser: &Browser, token: &str) -> bool {
    // A waiting request never has this id, so no token of its form passes here.
    made_form_token(service, browser.login.as_deref(), Uuid::nil(), token)
}
