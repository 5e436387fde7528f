//! Looks up many users at once, inside a scope: an import looks up all its rows together.

use super::{Placed, Row, columns};
use crate::{
    StoreError,
    scope::push_scope,
    sql::{On, Q},
};
use bailiwick_policy::Scope;
use std::collections::HashMap;

/// Users inside the scope who have one of these addresses (folded) and are not individually deleted, with the folded
/// address. Their organization may be deleted.
pub async fn by_emails(
    on: impl Into<On<'_>>,
    scope: &Scope,
    keys: &[&str],
) -> Result<Vec<Placed>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(concat!(
        "SELECT ",
        columns!(),
        " FROM users u JOIN organizations o ON o.id = u.organization_id \
         LEFT JOIN organizations c ON c.id = u.creator_org_id WHERE u.deleted_at IS NULL AND u.email_key IN ("
    ));
    q.list(keys.iter().copied()).push(")");
    push_scope(&mut q, "u", "organization_id", scope);
    let rows: Vec<Row> = q.all(on).await?;
    rows.into_iter().map(Row::into_placed).collect()
}

/// Those of the addresses (folded) that belong to individually deleted users inside the scope.
pub async fn deleted_emails(
    on: impl Into<On<'_>>,
    scope: &Scope,
    keys: &[&str],
) -> Result<Vec<String>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(
        "SELECT DISTINCT u.email_key FROM users u WHERE u.deleted_at IS NOT NULL AND u.email_key IN (",
    );
    q.list(keys.iter().copied()).push(")");
    push_scope(&mut q, "u", "organization_id", scope);
    let rows: Vec<(String,)> = q.all(on).await?;
    Ok(rows.into_iter().map(|r| r.0).collect())
}

/// Those of the phones (digits) that belong to users inside the scope who are not individually deleted, with the
/// address of one of them.
pub async fn holders_of_phones(
    on: impl Into<On<'_>>,
    scope: &Scope,
    phones: &[&str],
) -> Result<HashMap<String, String>, StoreError> {
    if phones.is_empty() {
        return Ok(HashMap::new());
    }
    let mut q = Q::new("SELECT u.phone, u.email FROM users u WHERE u.deleted_at IS NULL AND u.phone IN (");
    q.list(phones.iter().copied()).push(")");
    push_scope(&mut q, "u", "organization_id", scope);
    let rows: Vec<(String, String)> = q.all(on).await?;
    Ok(rows.into_iter().collect())
}
