//! `POST /systems/unregister` (spec: systems-interface#unregister). The body is not read.

use super::Itself;
use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, Service},
};
use bailiwick_fleet::{Fleet, systems};

/// Answers once the credential is dead.
pub async fn unregister(
    Service(fleet): Service<Fleet>,
    Itself(system): Itself,
    Ctx(request): Ctx,
) -> Outcome<Answer<()>> {
    systems::unregister(&fleet, &request, &system).await?;
    Ok(Answer::ok("system unregistered successfully", ()))
}
