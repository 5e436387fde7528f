//! `POST /systems/register` (spec: systems-interface#register).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Service},
    wire::system_side::{RegistrationInput, RegistrationOutput},
};
use bailiwick_domain::Error;
use bailiwick_fleet::{Fleet, systems};

/// Text of the answer, twice in it.
const DONE: &str = "system registered successfully";

/// Makes the credential valid.
pub async fn register(
    Service(fleet): Service<Fleet>,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<RegistrationOutput>> {
    // A malformed body counts as one without the secret.
    let secret = match body.parse::<RegistrationInput>() {
        Err(e @ (Error::TooLarge { .. } | Error::BadRequest { .. } | Error::SlowBody)) => {
            return Err(e.into());
        }
        parsed => parsed.ok().and_then(|body| body.system_secret),
    };
    let done = systems::register(&fleet, &request, secret.as_deref()).await?;
    let data =
        RegistrationOutput { system_key: done.system_key, registered_at: done.registered_at, message: DONE };
    Ok(Answer::ok(DONE, data))
}
