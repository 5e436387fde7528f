//! The audit log as the people of a branch read it: what was done with the rights of its organizations.

use super::Cursor;
use crate::{Db, StoreError, sql::Q, time::TsCodec, tree::parse_type};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId};
use bailiwick_policy::{Path, Scope};
use serde_json::Value;
use sqlx_macros::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

/// The filter; none = all. All conditions must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Not before.
    pub since: Option<Ts>,
    /// Before.
    pub until: Option<Ts>,
    /// The user who acted, in person or as somebody else.
    pub actor: Option<Uuid>,
    /// Only what the actor did without impersonating.
    pub in_person: bool,
    pub object: Option<Uuid>,
    /// The action, whole: `customer.create`.
    pub action: Option<String>,
}

/// A user who is named in a row and still exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Person {
    pub name: String,
    /// Address.
    pub email: String,
    /// Place of their organization.
    pub path: Path,
    pub org_type: OrgType,
    /// Keys of their roles.
    pub role_ids: Vec<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Number, in the order of writing.
    pub id: i64,
    /// When.
    pub at: Ts,
    /// Who acted; none = a job, the command line or a system.
    pub actor: Option<UserId>,
    /// Whose rights they used while impersonating.
    pub acting_for: Option<UserId>,
    /// Organization of the user whose rights were used, with its present name.
    pub organization: Option<(OrgId, Option<String>)>,
    /// `<object type>.<action>`.
    pub action: String,
    /// The kind of the object.
    pub object_type: String,
    pub object_id: Option<Uuid>,
    /// State before.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
    /// `X-Request-Id` of the request.
    pub request_id: Option<String>,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    at: TsCodec,
    actor_user_id: Option<Uuid>,
    acting_for_user_id: Option<Uuid>,
    actor_organization_id: Option<Uuid>,
    organization_name: Option<String>,
    action: String,
    object_type: String,
    object_id: Option<Uuid>,
    before: Option<Value>,
    after: Option<Value>,
    request_id: Option<String>,
}

impl From<Row> for Listed {
    fn from(row: Row) -> Listed {
        Listed {
            id: row.id,
            at: row.at.0,
            actor: row.actor_user_id.map(UserId),
            acting_for: row.acting_for_user_id.map(UserId),
            organization: row.actor_organization_id.map(|id| (OrgId(id), row.organization_name)),
            action: row.action,
            object_type: row.object_type,
            object_id: row.object_id,
            before: row.before,
            after: row.after,
            request_id: row.request_id,
        }
    }
}

const COLUMNS: &str = "SELECT a.id, a.at, a.actor_user_id, a.acting_for_user_id, a.actor_organization_id, \
    g.name AS organization_name, a.action, a.object_type, a.object_id, a.before, a.after, a.request_id \
    FROM audit_log a LEFT JOIN organizations g ON g.id = a.actor_organization_id WHERE 1 = 1";

/// The next rows of the scope after the cursor, the newest first.
pub async fn page(
    db: &Db,
    scope: &Scope,
    filter: &Filter,
    after: Option<Cursor>,
    rows: u64,
) -> Result<Vec<Listed>, StoreError> {
    let rows = page_query(scope, filter, after, rows).all::<Row>(db).await?;
    Ok(rows.into_iter().map(Listed::from).collect())
}

/// The statement of [`page`], for the test of its plans.
#[doc(hidden)]
pub fn page_query(scope: &Scope, filter: &Filter, after: Option<Cursor>, rows: u64) -> Q {
    let mut q = Q::new(COLUMNS);
    let is_found = filter.object.is_some() || filter.actor.is_some();
    push_place(&mut q, scope, is_found);
    if let Some(since) = filter.since {
        q.push(" AND a.at >= ?").arg(since);
    }
    if let Some(until) = filter.until {
        q.push(" AND a.at < ?").arg(until);
    }
    if let Some(object) = filter.object {
        q.push(" AND a.object_id = ?").arg(object);
    }
    if let Some(actor) = filter.actor {
        q.push(&format!(" AND {}actor_user_id = ?", unless_found(filter.object.is_some()))).arg(actor);
    }
    if filter.in_person {
        q.push(" AND a.acting_for_user_id IS NULL");
    }
    if let Some(action) = &filter.action {
        q.push(&format!(" AND {}action = ?", unless_found(is_found))).arg(action);
    }
    if let Some((at, id)) = after {
        q.push(" AND a.at <= ? AND (a.at < ? OR a.id < ?)").arg(at).arg(at).arg(id);
    }
    q.push(" ORDER BY a.at DESC, a.id DESC LIMIT ?").arg(rows);
    q
}

/// The table's name before a column. Once an object or a person has been found by their index, no other index helps;
/// SQLite, which has no statistics, is kept from taking one.
const fn unless_found(is_found: bool) -> &'static str {
    if is_found { "[[a.||+a.]]" } else { "a." }
}

/// Appends the scope.
fn push_place(q: &mut Q, scope: &Scope, is_found: bool) {
    let (column, root) = match *scope {
        Scope::Everything => return,
        Scope::Subtree { root, org_type: OrgType::Distributor } => ("p2", root),
        Scope::Subtree { root, .. } => ("p3", root),
        Scope::Organization(id) => ("actor_organization_id", id),
        Scope::SelfOnly(_) | Scope::Nothing => {
            q.push(" AND 1 = 0");
            return;
        }
    };
    q.push(&format!(" AND {}{column} = ?", unless_found(is_found))).arg(root);
}

#[derive(FromRow)]
struct PersonRow {
    id: Uuid,
    name: String,
    email: String,
    organization_id: Uuid,
    p2: Uuid,
    p3: Uuid,
    org_type: String,
    role_ids: Value,
}

/// Those of these users that still exist.
pub async fn people(db: &Db, ids: &[UserId]) -> Result<HashMap<UserId, Person>, StoreError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let mut q = Q::new(
        "SELECT u.id, u.name, u.email, u.organization_id, o.p2, o.p3, o.type AS org_type, u.role_ids \
         FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id IN (",
    );
    q.list(ids.iter().copied()).push(")");
    let rows: Vec<PersonRow> = q.all(db).await?;
    rows.into_iter().map(person).collect()
}

fn person(row: PersonRow) -> Result<(UserId, Person), StoreError> {
    let person = Person {
        name: row.name,
        email: row.email,
        path: Path { id: OrgId(row.organization_id), p2: OrgId(row.p2), p3: OrgId(row.p3) },
        org_type: parse_type(&row.org_type)?,
        role_ids: serde_json::from_value(row.role_ids).unwrap_or_default(),
    };
    Ok((UserId(row.id), person))
}
