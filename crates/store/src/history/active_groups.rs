//! Active alerts counted by what they have in common (spec: alert-management#active-alerts).

use super::active::ActiveQuery;
use crate::{
    Db, StoreError,
    alert_rows::{AlertKey, key_columns},
    sql::{Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{Keywords, OrgId, PageRequest, SystemId, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// What the alerts of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Organization,
    System,
    Name,
}

impl GroupBy {
    /// The words of addresses.
    pub const WORDS: Keywords<GroupBy> = Keywords::of(&[
        ("organization", GroupBy::Organization),
        ("system", GroupBy::System),
        ("name", GroupBy::Name),
    ]);

    /// Organization, name of the organization and key, as they are selected and grouped.
    const fn columns(self) -> [&'static str; 3] {
        match self {
            GroupBy::Organization => ["h.organization_id", "o.name", "''"],
            GroupBy::System => ["h.organization_id", "o.name", "h.system_key"],
            GroupBy::Name => ["[[CAST(NULL AS uuid)||NULL]]", "''", "h.alertname"],
        }
    }

    const fn grouping(self) -> &'static str {
        match self {
            GroupBy::Organization => "h.organization_id, o.name",
            GroupBy::System => "h.organization_id, o.name, h.system_key",
            GroupBy::Name => "h.alertname",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The organization with its name; none when alerts of several are together.
    pub organization: Option<(OrgId, String)>,
    /// The key of the system, or the name of the alerts; empty for organizations.
    pub key: String,
    /// How many alerts it has.
    pub total: u64,
    /// How many of them are critical.
    pub critical: u64,
    /// How many of them are warnings.
    pub warning: u64,
    /// The earliest start.
    pub first: Ts,
}

#[derive(FromRow)]
struct GroupRow {
    o: Option<Uuid>,
    org_name: String,
    k: String,
    n: i64,
    critical: i64,
    warning: i64,
    first: TsCodec,
}

impl From<GroupRow> for Group {
    fn from(r: GroupRow) -> Group {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Group {
            organization: r.o.map(|id| (OrgId(id), r.org_name)),
            key: r.k,
            total: count(r.n),
            critical: count(r.critical),
            warning: count(r.warning),
            first: r.first.0,
        }
    }
}

impl ActiveQuery {
    /// A page of groups, those with the most critical alerts first, and how many groups there are. `suppressed`: as for
    /// a page of alerts.
    pub async fn groups(
        &self,
        db: &Db,
        suppressed: &[i64],
        group_by: GroupBy,
        request: PageRequest,
    ) -> Result<(Vec<Group>, u64), StoreError> {
        let [organization, name, key] = group_by.columns();
        let mut page = Q::new(&format!(
            "SELECT {organization} AS o, {name} AS org_name, {key} AS k, CAST(COUNT(*) AS BIGINT) AS n, \
             CAST(SUM(CASE WHEN h.severity = 'critical' THEN 1 ELSE 0 END) AS BIGINT) AS critical, \
             CAST(SUM(CASE WHEN h.severity = 'warning' THEN 1 ELSE 0 END) AS BIGINT) AS warning, \
             MIN(h.starts_at) AS first"
        ));
        self.push_rows(&mut page, db, suppressed, group_by != GroupBy::Name);
        page.push(&format!(
            " GROUP BY {} ORDER BY 5 DESC, 6 DESC, 4 DESC, 7, 3, 1 LIMIT ? OFFSET ?",
            group_by.grouping()
        ));
        page.arg(request.page_size).arg(request.offset());
        let mut count = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT 1 AS one");
        self.push_rows(&mut count, db, suppressed, group_by != GroupBy::Name);
        count.push(&format!(" GROUP BY {}) g", group_by.grouping()));
        let (rows, total) = tokio::join!(page.all::<GroupRow>(db), count.count(db));
        Ok((rows?.into_iter().map(Group::from).collect(), total?))
    }
}

/// A system that an organization has, and the names of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSystem {
    pub id: SystemId,
    pub name: String,
    /// Its organization's name.
    pub organization: String,
}

/// The systems with these keys that their organizations have.
pub async fn named_systems(
    db: &Db,
    systems: &[AlertKey],
) -> Result<Vec<(AlertKey, NamedSystem)>, StoreError> {
    let mut named = Vec::with_capacity(systems.len());
    for chunk in systems.chunks(ROWS) {
        let mut q = Q::new("SELECT v.o, v.f, s.id, s.name, o.name FROM ");
        push_rows(&mut q, db.is_postgres(), key_columns(chunk.iter()));
        q.push(
            " [[JOIN||CROSS JOIN]] systems s ON s.system_key = v.f AND s.organization_id = v.o \
             AND s.deleted_at IS NULL [[JOIN||CROSS JOIN]] organizations o ON o.id = v.o",
        );
        let rows: Vec<(Uuid, String, Uuid, String, String)> = q.all(db).await?;
        named.extend(rows.into_iter().map(|(o, key, id, name, organization)| {
            ((OrgId(o), key), NamedSystem { id: SystemId(id), name, organization })
        }));
    }
    Ok(named)
}
