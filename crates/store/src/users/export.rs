//! The rows of an export of users (spec: users#export).

use super::{Filter, Order, list::walk_ids};
use crate::{
    Db, StoreError,
    sql::Q,
    time::TsCodec,
    walk::{self, Step, WalkStep},
};
use bailiwick_domain::Ts;
use bailiwick_policy::Scope;
use serde_json::Value;
use uuid::Uuid;

/// The data of a user that an export needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// User name.
    pub username: String,
    pub email: String,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Name of the user's organization.
    pub organization: String,
    /// Catalogue keys.
    pub role_ids: Vec<String>,
    /// Creation.
    pub created_at: Ts,
    /// Last exchange.
    pub latest_login_at: Option<Ts>,
    /// Effective suspension.
    pub suspended_at: Option<Ts>,
    /// Whether the user or their organization is deleted.
    pub is_deleted: bool,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    id: Uuid,
    username: String,
    email: String,
    name: String,
    phone: Option<String>,
    organization: String,
    role_ids: Value,
    created_at: TsCodec,
    latest_login_at: Option<TsCodec>,
    suspended_at: Option<TsCodec>,
    deleted_at: Option<TsCodec>,
    eff_suspended_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
}

impl Row {
    /// The fields are short; roles are those of the catalogue.
    fn weight(&self) -> usize {
        self.username.len() + self.email.len() + self.name.len() + self.organization.len()
    }
}

impl TryFrom<Row> for Line {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Line, StoreError> {
        let role_ids = serde_json::from_value(row.role_ids)
            .map_err(|e| StoreError::Corrupt(format!("role_ids of user {}: {e}", row.username)))?;
        Ok(Line {
            username: row.username,
            email: row.email,
            name: row.name,
            phone: row.phone,
            organization: row.organization,
            role_ids,
            created_at: row.created_at.0,
            latest_login_at: row.latest_login_at.map(|t| t.0),
            suspended_at: row.suspended_at.or(row.eff_suspended_at).map(|t| t.0),
            is_deleted: row.deleted_at.or(row.eff_deleted_at).is_some(),
        })
    }
}

/// The next users of a walk, as the list has them.
///
/// # Errors
/// [`StoreError::TooHeavy`] if several rows do not fit into the bytes of the step.
pub async fn export(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    order: Order,
    step: &Step,
) -> Result<WalkStep<Line>, StoreError> {
    let (ids, next) = walk_ids(db, scope, filter, order, step).await?;
    let mut q = Q::new(
        "SELECT u.id, u.username, u.email, u.name, u.phone, u.role_ids, u.created_at, u.latest_login_at, \
         u.suspended_at, u.deleted_at, o.name AS organization, o.eff_suspended_at, o.eff_deleted_at FROM users u \
         JOIN organizations o ON o.id = u.organization_id WHERE ",
    );
    q.one_of(db, "u.id", &ids);
    let rows = walk::rows(db, q, (&ids, step), |row: &Row| row.id, Row::weight).await?;
    Ok(WalkStep { rows: rows.into_iter().map(Line::try_from).collect::<Result<_, _>>()?, next })
}
