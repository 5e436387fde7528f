//! State of the embedded OpenID provider (spec: openid-provider#endpoints): keys, browser logins, waiting authorization
//! requests, grants and tokens. Everything a client or a browser holds is stored as its SHA-256.
//!
//! A token is valid while the token itself, its grant and its login are: ending a login ends everything issued through
//! it. Locks are taken in the order user, login, grant (see [`crate::sessions`]).

pub mod consents;
pub mod grants;
pub mod interactions;
pub mod keys;
pub mod logins;
pub mod tokens;

use crate::{StoreError, Tx};
use bailiwick_domain::Ts;

/// Removes rows that expired before `before`: waiting requests, tokens, grants, logins. Returns how many rows.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    let mut purged = interactions::purge(tx, before).await?;
    purged += tokens::purge(tx, before).await?;
    purged += grants::purge(tx, before).await?;
    purged += logins::purge(tx, before).await?;
    Ok(purged)
}
