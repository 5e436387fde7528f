//! Consents of users to third-party clients (spec: openid-provider#endpoints, step 2).

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{Ts, UserId};
use sqlx_macros::FromRow;

/// A user's consent to one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Which client.
    pub client_id: String,
    /// Scopes, separated by spaces.
    pub scope: String,
    /// The last time.
    pub given_at: Ts,
}

#[derive(FromRow)]
struct ConsentRow {
    client_id: String,
    scope: String,
    given_at: TsCodec,
}

impl From<ConsentRow> for Consent {
    fn from(row: ConsentRow) -> Consent {
        Consent { client_id: row.client_id, scope: row.scope, given_at: row.given_at.0 }
    }
}

const SCOPE: &str = "SELECT scope FROM oidc_consents WHERE user_id = ? AND client_id = ?";

const OF_USER: &str =
    "SELECT client_id, scope, given_at FROM oidc_consents WHERE user_id = ? ORDER BY client_id LIMIT 100";

const PUT: &str = "INSERT INTO oidc_consents (user_id, client_id, scope, given_at) VALUES (?, ?, ?, ?) \
     ON CONFLICT (user_id, client_id) DO UPDATE SET scope = excluded.scope, given_at = excluded.given_at";

const WITHDRAW: &str = "DELETE FROM oidc_consents WHERE user_id = ? AND client_id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![SCOPE, OF_USER, PUT, WITHDRAW];

/// The scopes the user has allowed the client, separated by spaces.
pub async fn scope(
    on: impl Into<On<'_>>,
    user: UserId,
    client_id: &str,
) -> Result<Option<String>, StoreError> {
    let row = Q::new(SCOPE).bind(user).bind(client_id).optional::<(String,)>(on).await?;
    Ok(row.map(|(scope,)| scope))
}

/// Everything the user has allowed, by client; at most a hundred, more than any installation configures.
pub async fn of_user(on: impl Into<On<'_>>, user: UserId) -> Result<Vec<Consent>, StoreError> {
    let rows: Vec<ConsentRow> = Q::new(OF_USER).bind(user).all(on).await?;
    Ok(rows.into_iter().map(Consent::from).collect())
}

/// Stores the user's consent in place of the previous one.
pub async fn put(tx: &mut Tx, user: UserId, client_id: &str, scope: &str, now: Ts) -> Result<(), StoreError> {
    Q::new(PUT).bind(user).bind(client_id).bind(scope).bind(now).run(tx).await.map(|_| ())
}

/// Removes the user's consent. False when there was none.
pub async fn withdraw(tx: &mut Tx, user: UserId, client_id: &str) -> Result<bool, StoreError> {
    Ok(Q::new(WITHDRAW).bind(user).bind(client_id).run(tx).await? > 0)
}
