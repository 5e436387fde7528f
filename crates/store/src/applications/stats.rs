//! Kinds among the applications of one system or assignee, names and newest ones of types, changes by day, and the
//! choices of the list's filters.

use super::{
    filter::ApplicationFilter,
    list::{JOINS, push_visible},
    listed,
};
use crate::{
    Db, StoreError,
    changes_by_day::push_gone,
    filters::push_choices,
    scope::push_scope,
    sql::Q,
    time::{TsCodec, utc_day},
    tree::parse_type,
};
use bailiwick_domain::{ChoiceSearch, OrgId, SystemId, Ts, org::OrgRef};
use bailiwick_policy::Scope;
use std::collections::HashMap;
use uuid::Uuid;

/// The most types in one statement.
const TYPES: usize = 400;

/// The types among the listed applications that match, with their names as counted: `(module, name, number)`.
pub async fn types(
    db: &Db,
    scope: &Scope,
    filter: &ApplicationFilter,
) -> Result<Vec<(String, String, u64)>, StoreError> {
    let within = Within::of(db, scope, filter).await?;
    let mut q =
        Q::new("SELECT a.instance_of, COALESCE(a.name, ''), CAST(COUNT(*) AS BIGINT) FROM applications a");
    q.push(JOINS);
    within.push(&mut q);
    q.push(" GROUP BY a.instance_of, COALESCE(a.name, '')");
    let rows: Vec<(String, String, i64)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(t, name, n)| (t, name, u64::try_from(n).unwrap_or(0))).collect())
}

/// For each of these types, the name of its most recently reported application with a name.
pub async fn latest_names(
    db: &Db,
    scope: &Scope,
    filter: &ApplicationFilter,
    types: &[&str],
) -> Result<HashMap<String, String>, StoreError> {
    let within = Within::of(db, scope, filter).await?;
    let one = |q: &mut Q| {
        q.push(
            "SELECT a.name FROM application_hosts t [[JOIN||CROSS JOIN]] applications a ON a.system_id = t.system_id",
        );
        q.push(JOINS);
        within.push(q);
        push_scope(q, "t", "home_id", scope);
        q.push(" AND a.instance_of = k.column1 AND a.name <> '' ORDER BY t.seen_at DESC, a.id DESC LIMIT 1");
    };
    let mut names = HashMap::new();
    for chunk in types.chunks(TYPES) {
        let rows: Vec<(String, Option<String>)> = of_each(chunk, one).all(db).await?;
        names.extend(rows.into_iter().filter_map(|(kind, name)| Some((kind, name?))));
    }
    Ok(names)
}

/// For each of these types when its newest application was created.
pub async fn newest(
    db: &Db,
    scope: &Scope,
    filter: &ApplicationFilter,
    types: &[&str],
) -> Result<HashMap<String, Ts>, StoreError> {
    let within = Within::of(db, scope, filter).await?;
    let one = |q: &mut Q| {
        q.push("SELECT a.created_at FROM applications a").push(JOINS);
        within.push(q);
        q.push(" AND a.instance_of = k.column1 ORDER BY a.created_at DESC LIMIT 1");
    };
    let mut newest = HashMap::new();
    for chunk in types.chunks(TYPES) {
        let rows: Vec<(String, Option<TsCodec>)> = of_each(chunk, one).all(db).await?;
        newest.extend(rows.into_iter().filter_map(|(kind, at)| Some((kind, at?.0))));
    }
    Ok(newest)
}

/// One row for each type `k.column1`, with the result of the inner statement for it.
fn of_each(types: &[&str], inner: impl Fn(&mut Q)) -> Q {
    let mut q = Q::new("SELECT k.column1, (");
    inner(&mut q);
    q.push(") FROM (VALUES ");
    for (i, kind) in types.iter().enumerate() {
        q.push(if i == 0 { "(?)" } else { ", (?)" }).arg(*kind);
    }
    q.push(") AS k");
    q
}

/// Some of the listed applications of a scope.
struct Within<'a> {
    scope: &'a Scope,
    filter: &'a ApplicationFilter,
    expanded: Vec<(OrgId, bailiwick_domain::OrgType)>,
}

impl<'a> Within<'a> {
    async fn of(db: &Db, scope: &'a Scope, filter: &'a ApplicationFilter) -> Result<Within<'a>, StoreError> {
        let ids = filter.organizations.as_deref();
        let expanded = crate::filters::expand(db, ids, filter.include_hierarchy).await?;
        Ok(Within { scope, filter, expanded })
    }

    fn push(&self, q: &mut Q) {
        push_visible(q, self.scope);
        super::list::push_filter(q, self.scope, self.filter, &self.expanded);
    }
}

/// Changes of the number of listed applications by UTC day since 1970, from `since` on: those created minus those
/// removed, individually, with their system or with an organization.
pub async fn changes_by_day(db: &Db, scope: &Scope, since: Ts) -> Result<Vec<(i64, i64)>, StoreError> {
    const GONE_AT: &str = "[[LEAST(a.deleted_at, s.deleted_at, h.eff_deleted_at)||\
        MIN(COALESCE(a.deleted_at, 9223372036854775807), COALESCE(s.deleted_at, 9223372036854775807), \
        COALESCE(h.eff_deleted_at, 9223372036854775807))]]";
    let gone = format!(
        "SELECT a.id, a.created_at, a.deleted_at, {GONE_AT} AS gone_at FROM applications a \
         JOIN systems s ON s.id = a.system_id JOIN organizations h ON h.id = a.home_id \
         WHERE a.is_user_facing AND a.certification_level >= 4"
    );
    let mut q = Q::new("WITH gone AS (");
    for (i, mark) in ["a.deleted_at", "s.deleted_at", "h.eff_deleted_at"].into_iter().enumerate() {
        q.push(if i == 0 { "" } else { " UNION " }).push(&gone);
        q.push(&format!(" AND {mark} IS NOT NULL AND {mark} >= ?")).arg(since);
        push_scope(&mut q, "a", "home_id", scope);
    }
    q.push(&format!(
        "), changes (day, n) AS (SELECT {}, COUNT(*) FROM applications x WHERE {} AND x.created_at >= ?",
        utc_day("x.created_at"),
        listed!().replace("a.", "x."),
    ));
    q.arg(since);
    push_scope(&mut q, "x", "home_id", scope);
    push_gone(&mut q, since);
    q.all(db).await
}

/// The organizations of the scope that its listed applications are assigned to, by name; deleted ones left out.
pub async fn assignees(
    db: &Db,
    scope: &Scope,
    search: Option<&ChoiceSearch>,
) -> Result<Vec<OrgRef>, StoreError> {
    let mut q = Q::new(
        "SELECT g.id, g.type, g.name FROM organizations g WHERE g.eff_deleted_at IS NULL AND g.id IN \
         (SELECT k.organization_id FROM organizations h JOIN assignment_counts k ON k.home_id = h.id \
         WHERE k.listed > 0 AND h.eff_deleted_at IS NULL",
    );
    push_scope(&mut q, "h", "id", scope);
    q.push(")");
    push_scope(&mut q, "g", "id", scope);
    push_choices(&mut q, ("g.name_key", "g.id"), None, search);
    let rows: Vec<(Uuid, String, String)> = q.all(db).await?;
    rows.into_iter()
        .map(|(id, org_type, name)| Ok(OrgRef { id: OrgId(id), name, org_type: parse_type(&org_type)? }))
        .collect()
}

/// The first systems by name that have listed applications; with a search one more than it asks for.
pub async fn hosts(
    db: &Db,
    scope: &Scope,
    limit: u64,
    search: Option<&ChoiceSearch>,
) -> Result<Vec<(SystemId, String)>, StoreError> {
    let mut q = Q::new(concat!(
        "SELECT s.id, s.name FROM application_hosts t [[JOIN||CROSS JOIN]] systems s ON s.id = t.system_id \
         [[JOIN||LEFT JOIN]] organizations h ON h.id = t.home_id \
         WHERE s.deleted_at IS NULL AND h.eff_deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM applications a WHERE a.system_id = t.system_id AND ",
        listed!(),
        ")"
    ));
    push_scope(&mut q, "t", "home_id", scope);
    push_choices(&mut q, ("t.name_key", "t.system_id"), Some(limit), search);
    let rows: Vec<(Uuid, String)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id, name)| (SystemId(id), name)).collect())
}
