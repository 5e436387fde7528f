//! The series of one family over time, and the check whether a VAT number is in use.

use crate::{
    Db, StoreError, filters::push_choices, scope::push_scope, sql::Q, time::utc_day, tree::parse_type,
};
use bailiwick_domain::{ChoiceSearch, OrgId, OrgType, Ts, org::OrgRef};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// How a family has changed, day by day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows that are not deleted now.
    pub total: u64,
    /// `(days since 1970-01-01, came or, negative, went)`: up to two entries for a day, none for days without any.
    pub by_day: Vec<(i64, i64)>,
}

/// The family inside the scope now, and the organizations added and removed on each UTC day from `since` on. Deleted
/// rows were added on one day and removed on another; deletions count from the time they take effect, inherited ones
/// too.
pub async fn changes(db: &Db, family: OrgType, scope: &Scope, since: Ts) -> Result<Changes, StoreError> {
    let mut q = Q::new("SELECT CAST(-1 AS BIGINT), CAST(COUNT(*) AS BIGINT)");
    let from = |q: &mut Q, condition: &str| {
        q.push(" FROM organizations o WHERE o.type = ?").arg(family.as_str());
        push_scope(q, "o", "id", scope);
        q.push(condition);
    };
    from(&mut q, " AND o.eff_deleted_at IS NULL");
    for (column, sign) in [("o.created_at", ""), ("o.eff_deleted_at", "-")] {
        q.push(&format!(" UNION ALL SELECT {}, {sign}CAST(COUNT(*) AS BIGINT)", utc_day(column)));
        from(&mut q, &format!(" AND {column} >= ?"));
        q.arg(since).push(" GROUP BY 1");
    }
    // One statement, so that the total and the changes belong together.
    q.push(" ORDER BY 1");
    let rows: Vec<(i64, i64)> = q.all(db).await?;
    let mut changes = Changes::default();
    for (day, n) in rows {
        match day {
            -1 => changes.total = u64::try_from(n).unwrap_or(0),
            _ => changes.by_day.push((day, n)),
        }
    }
    Ok(changes)
}

/// Whether another row of the family inside the scope has this VAT number (normalised). Distributors and resellers keep
/// theirs until they are individually deleted; for customers every deletion counts (spec: organizations#vat).
pub async fn vat_in_use(
    db: &Db,
    family: OrgType,
    scope: &Scope,
    vat_key: &str,
    except: Option<OrgId>,
) -> Result<bool, StoreError> {
    let mut q = Q::new("SELECT CAST(1 AS BIGINT) FROM organizations o WHERE o.vat_key = ? AND o.type = ?")
        .bind(vat_key)
        .bind(family.as_str());
    push_scope(&mut q, "o", "id", scope);
    q.push(match family {
        OrgType::Customer => " AND o.eff_deleted_at IS NULL",
        _ => " AND o.deleted_at IS NULL",
    });
    if let Some(except) = except {
        q.push(" AND o.id <> ?").arg(except);
    }
    q.push(" LIMIT 1");
    let row: Option<(i64,)> = q.optional(db).await?;
    Ok(row.is_some())
}

/// The organizations of the scope with a live object that `organization_counts` counts in this column, by name; with a
/// search one more than it asks for.
pub(crate) async fn organizations_with(
    db: &Db,
    scope: &Scope,
    counted: &'static str,
    search: Option<&ChoiceSearch>,
) -> Result<Vec<OrgRef>, StoreError> {
    let mut q = Q::new(&format!(
        "SELECT o.id, o.type, o.name FROM organizations o JOIN organization_counts n ON n.organization_id = o.id \
         WHERE o.eff_deleted_at IS NULL AND n.{counted} > 0"
    ));
    push_scope(&mut q, "o", "id", scope);
    push_choices(&mut q, ("o.name_key", "o.id"), None, search);
    let rows: Vec<(Uuid, String, String)> = q.all(db).await?;
    rows.into_iter()
        .map(|(id, org_type, name)| Ok(OrgRef { id: OrgId(id), name, org_type: parse_type(&org_type)? }))
        .collect()
}
