//! Active alerts of many organizations with the embedded router, in one set-based read (spec:
//! alert-management#active-alerts). The firing row of the history has the columns to filter and sort by; the router's
//! record has the rest. The caller applies silences; here an alert is a row of a list.

use super::{OrganizationsRead, push_search};
use crate::{
    Db, StoreError, Tx,
    alert_rows::{AlertKey, Spared, key_columns},
    filters::push_in,
    sql::{Arg, LIKE_ANY_ARRAY, Q, at_least, push_rows},
    time::TsCodec,
    walk::{PAGE, in_order, push_page_end},
};
use bailiwick_domain::{Keywords, OrgId, PageRequest, Parameter, SortDirection, Ts, UserId};
use bailiwick_policy::Scope;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// The most bytes of records in one read.
const BYTES: usize = 64 * 1024 * 1024;
/// How many alerts have their labels read at once: they fit in memory however large their labels are.
pub const JUDGED: usize = 400;

/// The filters of a list of active alerts; none = not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveFilter {
    /// `active`, `suppressed`; other words match nothing. The caller applies them, as it applies silences.
    pub statuses: Option<Vec<String>>,
    /// Severities, exact.
    pub severities: Option<Vec<String>>,
    /// Keys of systems.
    pub system_keys: Option<Vec<String>>,
    /// Names, exact.
    pub names: Option<Vec<String>>,
    pub assignees: Option<Vec<UserId>>,
    /// With `assignees`: also unassigned ones (`none`).
    pub or_unassigned: bool,
    /// Text that must occur in the name, the summary, or the name of the system or organization, ignoring case.
    pub search: Option<String>,
    /// One alert of each organization.
    pub fingerprint: Option<String>,
}

impl ActiveFilter {
    /// The words of `status` and `state`: whether an alert is suppressed. None matches `unprocessed`.
    pub const STATES: Keywords<Option<bool>> =
        Keywords::of(&[("active", Some(false)), ("suppressed", Some(true)), ("unprocessed", None)]);

    /// The assignee of unassigned alerts.
    pub const NOBODY: &str = "none";

    /// The keys of a query.
    pub const FILTERS: &[Parameter<ActiveFilter>] = &[
        Parameter::words("status", || ActiveFilter::STATES.list(), ActiveFilter::add_statuses),
        Parameter::words("state", || ActiveFilter::STATES.list(), ActiveFilter::add_statuses),
        Parameter::each("severity", |filter, words| filter.severities = Some(words)),
        Parameter::each("system_key", |filter, keys| filter.system_keys = Some(keys)),
        Parameter::each("alertname", |filter, names| filter.names = Some(names)),
        Parameter::each("assigned_user_id", |filter, ids| {
            filter.or_unassigned = ids.iter().any(|id| id == ActiveFilter::NOBODY);
            filter.assignees = Some(ids.iter().filter_map(|id| id.parse().ok()).collect());
        }),
        Parameter::text("search", |filter, text| filter.search = Some(text)),
    ];

    fn add_statuses(&mut self, words: Vec<String>) {
        self.statuses.get_or_insert_default().extend(words);
    }

    /// Appends ` AND …` by the columns of `h`.
    fn push_columns(&self, q: &mut Q) {
        for (column, values) in [
            ("h.severity", &self.severities),
            ("h.system_key", &self.system_keys),
            ("h.alertname", &self.names),
        ] {
            if let Some(values) = values {
                push_in(q, column, values);
            }
        }
        if let Some(fingerprint) = &self.fingerprint {
            push_in(q, "h.fingerprint", std::slice::from_ref(fingerprint));
        }
    }
}

/// The order of the list; fingerprint and organization decide between equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActiveOrder {
    #[default]
    StartsAt,
    /// Critical, warning, info, others.
    Severity,
    /// Name.
    Alertname,
    /// Active before suppressed.
    Status,
    /// By assignee, ignoring case; unassigned ones come first.
    AssignedUserName,
}

impl ActiveOrder {
    /// The words of `sort_by`.
    pub const WORDS: Keywords<ActiveOrder> = Keywords::of(&[
        ("starts_at", ActiveOrder::StartsAt),
        ("severity", ActiveOrder::Severity),
        ("alertname", ActiveOrder::Alertname),
        ("status", ActiveOrder::Status),
        ("assigned_user_name", ActiveOrder::AssignedUserName),
    ]);
}

/// A requested list of active alerts.
#[derive(Clone, Debug)]
pub struct ActiveQuery {
    pub within: OrganizationsRead,
    /// Filters.
    pub filter: ActiveFilter,
    /// Only suppressed ones (true) or only unsuppressed ones (false).
    pub is_suppressed: Option<bool>,
    pub order: ActiveOrder,
    pub direction: SortDirection,
    /// Alerts that are not over at this time.
    pub now: Ts,
    /// Ends after an outage that do not count yet.
    pub spared: Spared,
}

/// The router's record of an alert.
#[derive(Clone, Debug)]
pub struct ActiveRow {
    /// Which.
    pub key: AlertKey,
    pub system_key: String,
    /// The record.
    pub payload: String,
}

#[derive(FromRow)]
struct PayloadRow {
    id: i64,
    organization_id: Uuid,
    fingerprint: String,
    system_key: String,
    payload: String,
}

impl From<PayloadRow> for ActiveRow {
    fn from(r: PayloadRow) -> ActiveRow {
        let key = (OrgId(r.organization_id), r.fingerprint);
        ActiveRow { key, system_key: r.system_key, payload: r.payload }
    }
}

/// The rows with these ids, in their order; without those that fire no longer.
///
/// # Errors
/// The database's, and that the records are too large to be read at once.
pub async fn by_ids(db: &Db, ids: &[i64]) -> Result<Vec<ActiveRow>, StoreError> {
    let mut q = Q::new(
        "SELECT h.id, h.organization_id, h.fingerprint, h.system_key, r.payload FROM alert_history h \
         JOIN router_alerts r ON r.organization_id = h.organization_id AND r.fingerprint = h.fingerprint \
         WHERE h.status = 'firing' AND ",
    );
    push_any(&mut q, db, ids);
    let rows: Vec<PayloadRow> = q.all_within(db, BYTES, |row: &PayloadRow| row.payload.len()).await?;
    Ok(in_order(ids, rows, |row| row.id).into_iter().map(ActiveRow::from).collect())
}

/// A value of the rows of a group, how many they are, and when the first of them expires.
type Counted = (Option<String>, i64, Option<TsCodec>);

/// A figure of active alerts, valid until one of them begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidUntil<T> {
    /// The figure.
    pub value: T,
    /// When the first of the alerts expires, unless it is repeated; none if no alert expires. The figure is valid no
    /// longer.
    pub until: Option<Ts>,
}

impl ActiveQuery {
    /// The ids of the rows of a page. `suppressed`: rows that silences suppress, where the query asks. The first page
    /// is valid until one of its alerts ends; a later one also depends on the alerts before it.
    pub async fn page(
        &self,
        db: &Db,
        suppressed: &[i64],
        request: PageRequest,
    ) -> Result<ValidUntil<Vec<i64>>, StoreError> {
        let mut q = Q::new(PAGE);
        q.push("SELECT h.id, CASE WHEN h.expires_at >= ? THEN h.expires_at END").arg(self.now);
        self.push_rows(&mut q, db, suppressed, false);
        self.push_order(&mut q, db, suppressed);
        push_page_end(&mut q, request.page_size, request.offset());
        let rows: Vec<(i64, Option<TsCodec>)> = q.all(db).await?;
        let until = rows.iter().filter_map(|row| row.1).map(Ts::from).min();
        Ok(ValidUntil { value: rows.into_iter().map(|(id, _)| id).collect(), until })
    }

    /// How many there are, suppressed or not.
    pub async fn total(&self, db: &Db) -> Result<ValidUntil<u64>, StoreError> {
        let mut q = self.counted("NULL");
        ActiveQuery { is_suppressed: None, ..self.clone() }.push_rows(&mut q, db, &[], false);
        let (_, n, until): Counted = q.one(db).await?;
        Ok(ValidUntil { value: u64::try_from(n).unwrap_or(0), until: until.map(Ts::from) })
    }

    /// The numbers of critical alerts, of warnings and (none) of all others; severities invented by systems count as
    /// the last.
    pub async fn severities(&self, db: &Db) -> Result<ValidUntil<Vec<(Option<String>, i64)>>, StoreError> {
        let severity = "CASE WHEN h.severity IN ('critical', 'warning') THEN h.severity ELSE NULL END";
        let mut q = self.counted(severity);
        self.push_rows(&mut q, db, &[], false);
        q.push(&format!(" GROUP BY {severity}"));
        let rows: Vec<Counted> = q.all(db).await?;
        let until = rows.iter().filter_map(|row| row.2).map(Ts::from).min();
        Ok(ValidUntil { value: rows.into_iter().map(|(severity, n, _)| (severity, n)).collect(), until })
    }

    /// The different names, in order, at most `limit`.
    pub async fn names(&self, db: &Db, limit: u64) -> Result<ValidUntil<Vec<String>>, StoreError> {
        let mut q = self.counted("h.alertname");
        self.push_rows(&mut q, db, &[], false);
        q.push(" AND h.alertname <> '' GROUP BY h.alertname ORDER BY h.alertname LIMIT ?").arg(limit);
        let rows: Vec<Counted> = q.all(db).await?;
        let until = rows.iter().filter_map(|row| row.2).map(Ts::from).min();
        Ok(ValidUntil { value: rows.into_iter().filter_map(|(name, ..)| name).collect(), until })
    }

    /// Begins a statement for rows of [`Counted`]. Alerts that outlived their time in an outage stay until it is over.
    fn counted(&self, key: &str) -> Q {
        let mut q = Q::new(&format!(
            "SELECT {key}, CAST(COUNT(*) AS BIGINT), MIN(CASE WHEN h.expires_at >= ? THEN h.expires_at END)"
        ));
        q.arg(self.now);
        q
    }

    /// Rows, with their organization, system and labels, of systems with a silence in force: only these can be
    /// suppressed. By id after `after`, as many as certainly fit; fewer than [`JUDGED`] = the last.
    pub async fn of_silenced_systems(
        &self,
        db: &Db,
        after: i64,
    ) -> Result<Vec<(i64, Uuid, String, String)>, StoreError> {
        let mut q = Q::new("SELECT h.id, h.organization_id, h.system_key, CAST(h.labels AS TEXT)");
        self.push_rows(&mut q, db, &[], false);
        // From the systems with silences to their alerts: most systems have no silence.
        q.push(
            " AND h.id IN (SELECT f.id FROM (SELECT DISTINCT r.organization_id, r.system_key FROM router_silences r \
             WHERE r.ends_at > ?",
        );
        q.arg(self.now.0);
        if let Scope::Organization(id) = self.within.scope {
            q.push(" AND r.organization_id = ?").arg(id);
        }
        q.push(
            ") m [[JOIN||CROSS JOIN]] alert_history f[[|| INDEXED BY alert_history_open_system]] \
             ON f.system_key = m.system_key AND f.organization_id = m.organization_id AND f.status = 'firing' \
             WHERE 1 = 1",
        );
        self.within.push_with_deleted(&mut q, "f", "organization_id");
        q.push(") AND h.id > ?").arg(after).push(" ORDER BY h.id LIMIT ?").arg(JUDGED as u64);
        q.all_within(db, BYTES, |row: &(i64, Uuid, String, String)| row.2.len() + row.3.len()).await
    }

    /// Appends ` FROM … WHERE …`: the open rows, as `h`; with the row of their organization as `o` if asked for.
    pub(super) fn push_rows(&self, q: &mut Q, db: &Db, suppressed: &[i64], with_organizations: bool) {
        q.push(" FROM alert_history h");
        // Every join is a lookup for each firing alert, so there are only those that the conditions need.
        if with_organizations || self.filter.search.is_some() {
            q.push(" JOIN organizations o ON o.id = h.organization_id");
        }
        if self.filter.assignees.is_some() || self.order == ActiveOrder::AssignedUserName {
            q.push(
                " LEFT JOIN alert_assignments a ON a.organization_id = h.organization_id \
                 AND a.fingerprint = h.fingerprint",
            );
        }
        // Most firing alerts have not expired. PostgreSQL cannot estimate that from a time in a parameter. In this form
        // it estimates that two thirds of the rows match, and then it keeps the plan of a page.
        q.push(" WHERE h.status = 'firing' AND ((h.expires_at < ?) IS FALSE").arg(self.now);
        if let Some((from, to)) = self.spared {
            q.push(" OR (h.expires_at >= ? AND h.expires_at <= ?)").arg(from).arg(to);
        }
        q.push(")");
        q.push(
            " AND h.organization_id NOT IN (SELECT d.id FROM organizations d WHERE d.eff_deleted_at IS NOT NULL)",
        );
        self.within.push_with_deleted(q, "h", "organization_id");
        // Alerts of deleted systems are not shown. Few systems are deleted, and an index has just those.
        q.push(
            " AND NOT EXISTS (SELECT 1 FROM systems s WHERE s.system_key = h.system_key \
             AND s.deleted_at IS NOT NULL)",
        );
        self.filter.push_columns(q);
        if let Some(text) = &self.filter.search {
            push_search(q, text);
        }
        if let Some(users) = &self.filter.assignees {
            let f = &self.filter;
            q.push(if f.or_unassigned {
                " AND (a.fingerprint IS NULL OR a.assigned_user_id IN ("
            } else {
                " AND (1 = 0 OR a.assigned_user_id IN ("
            });
            q.list(users.iter().copied()).push("))");
        }
        if let Some(is_suppressed) = self.is_suppressed {
            q.push(if is_suppressed { " AND " } else { " AND NOT " });
            push_any(q, db, suppressed);
        }
    }

    fn push_order(&self, q: &mut Q, db: &Db, suppressed: &[i64]) {
        q.push(" ORDER BY ");
        match self.order {
            ActiveOrder::StartsAt => q.push("h.starts_at"),
            ActiveOrder::Severity => q.push(
                "CASE h.severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 WHEN 'info' THEN 1 ELSE 0 END",
            ),
            ActiveOrder::Alertname => q.push("h.alertname"),
            ActiveOrder::Status => {
                q.push("CASE WHEN ");
                push_any(q, db, suppressed);
                q.push(" THEN 1 ELSE 0 END")
            }
            ActiveOrder::AssignedUserName => q.push("COALESCE(a.assigned_user_key, '')"),
        };
        q.push(&format!(" {}, h.fingerprint, h.organization_id", self.direction.as_str()));
    }
}

/// Appends whether the row is one of these, as one value however many they are.
fn push_any(q: &mut Q, db: &Db, rows: &[i64]) {
    q.push("[[h.id = ANY(?::bigint[])||h.id IN (SELECT value FROM json_each(?))]]");
    if db.is_postgres() {
        // No row has the id 0.
        q.arg(Arg::Ints(at_least(LIKE_ANY_ARRAY, if rows.is_empty() { &[0] } else { rows })));
    } else {
        q.arg(serde_json::Value::from(rows).to_string());
    }
}

const HAS_SYSTEM: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM systems \
     WHERE system_key = ? AND organization_id = ? AND deleted_at IS NULL";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![HAS_SYSTEM];

/// Whether an organization has this system, and it is not deleted.
pub async fn has_system(tx: &mut Tx, organization: OrgId, system_key: &str) -> Result<bool, StoreError> {
    Ok(Q::new(HAS_SYSTEM).bind(system_key).bind(organization).count(tx).await? > 0)
}

/// Organizations with an alert that may still be firing and that matches, at most `limit`: only for these is a request
/// to a remote router worthwhile.
pub async fn tenants(
    db: &Db,
    within: &OrganizationsRead,
    filter: &ActiveFilter,
    limit: u64,
) -> Result<Vec<OrgId>, StoreError> {
    let mut q = Q::new(
        "SELECT o.id FROM organizations o WHERE EXISTS (SELECT 1 FROM alert_history h \
         WHERE h.organization_id = o.id AND h.status = 'firing'",
    );
    filter.push_columns(&mut q);
    if let Some(users) = filter.assignees.as_ref().filter(|_| !filter.or_unassigned) {
        q.push(
            " AND EXISTS (SELECT 1 FROM alert_assignments a WHERE a.organization_id = h.organization_id \
             AND a.fingerprint = h.fingerprint AND (1 = 0 OR a.assigned_user_id IN (",
        );
        q.list(users.iter().copied()).push(")))");
    }
    q.push(")");
    within.push(&mut q, "o", "id");
    q.push(" ORDER BY o.id LIMIT ?").arg(limit);
    let rows: Vec<(Uuid,)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id,)| OrgId(id)).collect())
}

/// Organizations with registered systems, at most `limit`: these may have silences. `system_keys`: only with one of
/// these.
pub async fn tenants_with_systems(
    db: &Db,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
    limit: u64,
) -> Result<Vec<OrgId>, StoreError> {
    let mut q = Q::new(
        "SELECT o.id FROM organizations o WHERE EXISTS (SELECT 1 FROM systems s \
         WHERE s.organization_id = o.id AND s.registered_at IS NOT NULL AND s.deleted_at IS NULL",
    );
    if let Some(keys) = system_keys {
        push_in(&mut q, "s.system_key", keys);
    }
    q.push(")");
    within.push(&mut q, "o", "id");
    q.push(" ORDER BY o.id LIMIT ?").arg(limit);
    let rows: Vec<(Uuid,)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id,)| OrgId(id)).collect())
}

/// Records of the silences in force or to come of these systems, few enough for one statement.
///
/// # Errors
/// [`StoreError::TooHeavy`] when they do not fit; those of a single system always do.
pub async fn silences_of(
    db: &Db,
    systems: &[(OrgId, String)],
    now: Ts,
) -> Result<Vec<(OrgId, String, String)>, StoreError> {
    let mut q = Q::new("SELECT r.organization_id, r.system_key, r.payload FROM ");
    push_rows(&mut q, db.is_postgres(), key_columns(systems.iter()));
    q.push(
        " [[JOIN||CROSS JOIN]] router_silences r ON r.organization_id = v.o AND r.system_key = v.f \
         AND r.ends_at > ?",
    );
    q.arg(now.0);
    let rows = q.all_within(db, BYTES, |row: &(Uuid, String, String)| row.1.len() + row.2.len()).await?;
    Ok(rows.into_iter().map(|(o, key, payload)| (OrgId(o), key, payload)).collect())
}
