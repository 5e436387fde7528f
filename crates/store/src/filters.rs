//! Conditions that lists of several tables share.

use crate::{
    Db, StoreError,
    sql::{Arg, Q},
};
use bailiwick_domain::{ChoiceSearch, OrgId, OrgType, fold::contains_pattern};
use std::str::FromStr;
use uuid::Uuid;

/// Separates the parts of `search_key`; a search for it finds nothing.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// One value of the filter `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFilter {
    /// None = any product.
    pub product: Option<String>,
    /// Exact.
    pub version: String,
}

impl VersionFilter {
    /// From `<product>:<version>`, or a version of any product.
    pub fn parse(value: &str) -> VersionFilter {
        let (product, version) =
            value.split_once(':').map_or((None, value), |(product, version)| (Some(product), version));
        VersionFilter { product: product.map(str::to_owned), version: version.to_owned() }
    }
}

/// The well-formed values.
pub(crate) fn parsed<T: FromStr>(values: &[String]) -> Vec<T> {
    values.iter().filter_map(|value| value.parse().ok()).collect()
}

/// The well-formed ids of creators, which are users or organizations.
pub(crate) fn creators(ids: &[String]) -> Vec<Uuid> {
    parsed(ids).into_iter().map(|OrgId(id)| id).collect()
}

/// Appends ` AND …`: one of the columns contains the text, in any case. The columns hold folded texts.
pub(crate) fn push_contains(q: &mut Q, columns: &[&str], text: &str) {
    if !can_be_stored(text) {
        q.push(" AND 1 = 0");
        return;
    }
    let conditions = columns.iter().map(|column| format!("{column} LIKE ? [[||ESCAPE '\\']]"));
    q.push(" AND (").push(&conditions.collect::<Vec<_>>().join(" OR ")).push(")");
    for _ in columns {
        q.arg(contains_pattern(text));
    }
}

/// Appends the end of a statement for choices by the folded name in a column, at most `limit` of them if there is one.
/// With a search only what it finds, and one more than it asks for, which shows that there are more.
pub(crate) fn push_choices(
    q: &mut Q,
    (name, id): (&str, &str),
    limit: Option<u64>,
    search: Option<&ChoiceSearch>,
) {
    match search {
        Some(search) if can_be_stored(&search.text) => {
            q.push(&format!(" AND {name} LIKE ? [[||ESCAPE '\\']]")).arg(contains_pattern(&search.text));
        }
        Some(_) => {
            q.push(" AND 1 = 0");
        }
        None => {}
    }
    q.push(&format!(" ORDER BY {name}, {id}"));
    if let Some(limit) = search.map(|search| search.most.saturating_add(1)).or(limit) {
        q.push(" LIMIT ?").arg(limit);
    }
}

/// The types of the organizations with subtrees that a filter means: the type decides the column.
pub(crate) async fn expand(
    db: &Db,
    organizations: Option<&[OrgId]>,
    include_hierarchy: bool,
) -> Result<Vec<(OrgId, OrgType)>, StoreError> {
    let Some(ids) = organizations.filter(|ids| include_hierarchy && !ids.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut q = Q::new("SELECT id, type FROM organizations WHERE id IN (");
    q.list(ids.iter().copied()).push(")");
    let rows: Vec<(Uuid, String)> = q.all(db).await?;
    Ok(rows.into_iter().filter_map(|(id, kind)| Some((OrgId(id), OrgType::parse(&kind)?))).collect())
}

/// ` AND (…)`: pairs, which need both, as one list and bare versions, which fit any product, as another, since SQLite
/// limits the depth of an `OR` expression.
pub(crate) fn push_product_versions<'a>(
    q: &mut Q,
    product: &str,
    version: &str,
    wanted: impl Iterator<Item = &'a VersionFilter>,
) {
    let wanted = wanted.map(|wanted| (wanted.product.as_deref(), wanted.version.as_str()));
    let possible = wanted.filter(|(p, v)| can_be_stored(v) && p.is_none_or(can_be_stored));
    let (pairs, bare): (Vec<_>, Vec<_>) = possible.partition(|(p, _)| p.is_some());
    if !pairs.is_empty() {
        // It follows from the rest, which no index serves.
        q.push(&format!(" AND {version} IN ("));
        q.list(pairs.iter().chain(&bare).map(|(_, v)| (*v).to_owned())).push(")");
    }
    q.push(&format!(" AND ({version} IN ("));
    q.list(bare.into_iter().map(|(_, v)| v.to_owned())).push(")");
    if !pairs.is_empty() {
        q.push(&format!(" OR ({product}, {version}) IN (VALUES "));
        for (i, (p, v)) in pairs.into_iter().enumerate() {
            q.push(if i > 0 { ", (?, ?)" } else { "(?, ?)" }).arg(p.unwrap_or_default()).arg(v);
        }
        q.push(")");
    }
    q.push(")");
}

/// ` AND column IN (…)` of those values that can be stored.
pub(crate) fn push_in(q: &mut Q, column: &str, values: &[String]) {
    q.push(&format!(" AND {column} IN ("));
    // An empty list becomes NULL; PostgreSQL takes its type from the column.
    let values: Vec<Arg> = values.iter().filter(|v| can_be_stored(v)).map(Arg::from).collect();
    q.list(values).push(")");
}

/// Whether any stored text can contain it: the engines refuse U+0000 and over-long patterns.
pub(crate) fn can_be_stored(text: &str) -> bool {
    text.len() <= 4096 && !text.contains(['\0', SEPARATOR])
}
