//! The step after the password (spec: openid-provider#second-factors): a second factor is proved, or added where one is
//! required and missing. A passkey also signs in by itself.

use super::{
    authorize::Browser,
    sign_in::{Authenticated, Progress, SignInError, complete, open},
};
use crate::{
    Identity,
    factors::{
        self, Offer, TotpOffer,
        account_passkeys::add_at_sign_in,
        prove::{self, Checked, ShownPasskey},
    },
};
use bailiwick_domain::{Result, SignInMethod, SignInMethods, UserId};
use bailiwick_platform::RequestContext;
use bailiwick_store::{
    Tx, factors as stored, identities,
    identities::Identified,
    oidc::interactions::{self, Interaction, Step},
};
use uuid::Uuid;

/// What can be proved.
#[derive(Clone, Debug)]
pub struct Proof {
    /// For a passkey, if the user has one and browsers offer them here.
    pub passkey: Option<Offer>,
    /// Whether there is an authenticator application.
    pub has_totp: bool,
}

/// What can be added.
#[derive(Clone, Debug)]
pub struct Addition {
    /// An authenticator application.
    pub totp: TotpOffer,
    /// A passkey, where browsers offer them.
    pub passkey: Option<Offer>,
}

/// What the form of this step has sent.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// A code of the application, or a recovery code.
    Code(&'a str),
    /// The answer of a browser, and the state of the offer.
    Passkey {
        /// `PublicKeyCredential` as JSON.
        answer: &'a str,
        /// Sealed.
        state: &'a str,
    },
}

/// What the form that adds a factor has sent.
#[derive(Clone, Copy, Debug)]
pub enum New<'a> {
    /// The application's first code, and the state of its offer.
    Totp {
        /// Sealed.
        state: &'a str,
        /// Six digits.
        code: &'a str,
    },
    /// The answer of a browser, and the state of the offer.
    Passkey {
        /// Sealed.
        state: &'a str,
        /// `PublicKeyCredential` as JSON.
        answer: &'a str,
    },
}

/// After a factor was added.
#[derive(Clone, Debug)]
pub struct Added {
    /// The recovery codes, if there are new ones.
    pub recovery_codes: Vec<String>,
    /// Where the sign-in goes on.
    pub address: String,
}

pub(super) async fn proof(service: &Identity, interaction: &Interaction, user: UserId) -> Result<Proof> {
    let standing = stored::standing(&service.platform.db, user).await?;
    let passkey = match standing.passkeys {
        0 => None,
        _ => factors::passkeys::offer_to_prove(service, interaction.id)?,
    };
    Ok(Proof { passkey, has_totp: standing.has_totp })
}

/// None when the user is gone. `before`: the state of the application that was offered on the page before.
pub(super) async fn addition(
    service: &Identity,
    interaction: &Interaction,
    user: UserId,
    before: Option<&str>,
) -> Result<Option<Addition>> {
    let Some(user) = identities::get(&service.platform.db, user).await? else { return Ok(None) };
    let passkey = if factors::passkeys::are_possible(service) {
        Some(factors::passkeys::offer_to_add(service, &user, &[], interaction.id)?)
    } else {
        None
    };
    let totp = factors::totp::offer_to_add(service, &user, interaction.id, before)?;
    Ok(Some(Addition { totp, passkey }))
}

/// The user of a request that waits at this step, locked for a change.
async fn lock_step(tx: &mut Tx, interaction: &Interaction, step: Step) -> Result<Identified, SignInError> {
    let user =
        interaction.user_id.filter(|_| interaction.step == Some(step)).ok_or(SignInError::NotIdentified)?;
    enabled(tx, user).await
}

async fn enabled(tx: &mut Tx, user: UserId) -> Result<Identified, SignInError> {
    let user = identities::get_for_login(tx, user).await?;
    user.filter(|user| user.standing.is_enabled()).ok_or(SignInError::Gone)
}

/// A proof that was given, with what is read before a transaction begins: a request never waits for a second connection
/// while it holds one.
enum LoadedProof<'a> {
    Code(&'a str),
    Passkey { passkey: Box<ShownPasskey>, state: &'a str },
}

impl<'a> LoadedProof<'a> {
    async fn read(service: &Identity, given: Given<'a>) -> Result<LoadedProof<'a>, SignInError> {
        Ok(match given {
            Given::Code(code) => LoadedProof::Code(code),
            Given::Passkey { answer, state } => {
                let passkey = prove::shown_passkey(service, answer).await?.ok_or(SignInError::WrongFactor)?;
                LoadedProof::Passkey { passkey: Box::new(passkey), state }
            }
        })
    }
}

/// Locks the user of a request that waits for a proof, and checks it: the transaction, the user and what they have
/// proved. A wrong code is counted, and that is committed here.
pub(super) async fn prove(
    service: &Identity,
    interaction: &Interaction,
    given: Given<'_>,
) -> Result<(Tx, Identified, SignInMethods), SignInError> {
    let shown = LoadedProof::read(service, given).await?;
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    let user = lock_step(&mut tx, interaction, Step::Prove).await?;
    let checked = match &shown {
        LoadedProof::Code(code) => prove::code(service, &mut tx, user.id, code, now).await?,
        LoadedProof::Passkey { passkey, .. } if passkey.user() != user.id => Checked::Wrong,
        LoadedProof::Passkey { passkey, state } => {
            if prove::passkey(service, &mut tx, interaction.id, state, passkey, now).await? {
                Checked::Right(SignInMethod::Passkey)
            } else {
                Checked::Wrong
            }
        }
    };
    let denied = match checked {
        Checked::Right(method) => return Ok((tx, user, interaction.methods.with(method))),
        Checked::Wrong => SignInError::WrongFactor,
        Checked::TooMany { retry_after } => SignInError::TooMany { retry_after },
        Checked::Exhausted => SignInError::CodesExhausted,
    };
    tx.commit().await?;
    Err(denied)
}

/// The page's form: proves a second factor and completes the sign-in, unless the password must be replaced.
pub async fn prove_factor(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
    given: Given<'_>,
) -> Result<Progress, SignInError> {
    let (cookie, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let (mut tx, user, methods) = prove(service, &interaction, given).await?;
    if interaction.must_replace_password {
        pass(&mut tx, &interaction, methods).await?;
        tx.commit().await?;
        return Ok(Progress::NextPage { browser: cookie.to_owned() });
    }
    let proven = Authenticated { user, methods };
    let done = complete(service, context, &mut tx, &interaction, proven, browser).await?;
    tx.commit().await?;
    Ok(Progress::Done(done))
}

/// The page's form: signs in with a passkey alone.
pub async fn by_passkey(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
    answer: &str,
    state: &str,
) -> Result<Progress, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let shown: ShownPasskey = prove::shown_passkey(service, answer).await?.ok_or(SignInError::WrongFactor)?;
    let mut tx = service.platform.db.begin().await?;
    let user = identities::get_for_login(&mut tx, shown.user()).await?.ok_or(SignInError::WrongFactor)?;
    if !prove::passkey(service, &mut tx, interaction.id, state, &shown, service.platform.now()).await? {
        return Err(SignInError::WrongFactor);
    }
    if user.standing.suspension().is_some() {
        return Err(SignInError::AccountSuspended);
    }
    if user.standing.is_gone() {
        return Err(SignInError::WrongFactor);
    }
    let proven = Authenticated { user, methods: SignInMethods::of(SignInMethod::Passkey) };
    let done = complete(service, context, &mut tx, &interaction, proven, browser).await?;
    tx.commit().await?;
    Ok(Progress::Done(done))
}

pub(super) async fn pass(
    tx: &mut Tx,
    interaction: &Interaction,
    methods: SignInMethods,
) -> Result<(), SignInError> {
    let same = interaction.browser_hash.clone();
    if interactions::pass(tx, interaction, methods, &same).await? { Ok(()) } else { Err(SignInError::Gone) }
}

/// The page's form: adds a second factor. The sign-in goes on at [`Added::address`], once the person has kept their
/// recovery codes.
pub async fn add_factor(
    service: &Identity,
    context: &RequestContext,
    id: Uuid,
    browser: &Browser,
    given: New<'_>,
) -> Result<Added, SignInError> {
    let (_, interaction) = open(service, id, browser).await?.ok_or(SignInError::Gone)?;
    let mut tx = service.platform.db.begin().await?;
    let user = lock_step(&mut tx, &interaction, Step::Add).await?;
    // Someone else may have added one meanwhile: then that one must be proved.
    if stored::standing(&mut tx, user.id).await?.has_any() {
        return Err(SignInError::Gone);
    }
    let added = match given {
        New::Totp { state, code } => {
            factors::account::add_at_sign_in(service, &mut tx, &user, interaction.id, (state, code)).await?
        }
        New::Passkey { state, answer } => {
            add_at_sign_in(service, &mut tx, &user, interaction.id, (state, answer)).await?
        }
    };
    let method = added.ok_or(SignInError::WrongFactor)?;
    let recovery_codes =
        factors::account::settle_added(service, &mut tx, user.id, Some(interaction.id)).await?;
    factors::account::record_at_sign_in(&mut tx, service.platform.now(), context, &user, method).await?;
    pass(&mut tx, &interaction, interaction.methods.with(method)).await?;
    tx.commit().await?;
    let address = format!("{}/auth/{id}", service.settings.provider_issuer());
    Ok(Added { recovery_codes, address })
}
