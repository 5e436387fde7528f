//! What lists show with an alert: the present names of its system and organization, and its assignee.

use crate::{
    Db, StoreError,
    alert_handling::Assignment,
    alert_rows::{AlertKey, key_columns},
    sql::{Column, LIKE_ANY_ARRAY, Q, ROWS, at_least, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, UserId};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// The present values of an alert's system and organization, shown with the alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertDetails {
    /// The system's name, type, host name and address; none when the organization has no such system.
    pub system: Option<[String; 4]>,
    /// The organization's name, type and VAT number.
    pub organization: [String; 3],
    /// The assignee.
    pub assigned: Option<Assignment>,
}

#[derive(FromRow)]
struct ShownRow {
    o: Uuid,
    f: String,
    org_name: String,
    org_type: String,
    vat: Option<String>,
    system_name: Option<String>,
    system_type: Option<String>,
    fqdn: Option<String>,
    ipv4_address: Option<String>,
    assigned_user_id: Option<Uuid>,
    assigned_user_name: Option<String>,
    assigned_user_org_id: Option<Uuid>,
    assigned_user_org_name: Option<String>,
    assigned_at: Option<TsCodec>,
}

impl ShownRow {
    fn assigned(&self) -> Option<Assignment> {
        Some(Assignment {
            user_id: UserId(self.assigned_user_id?),
            user_name: self.assigned_user_name.clone()?,
            user_org_id: OrgId(self.assigned_user_org_id?),
            user_org_name: self.assigned_user_org_name.clone()?,
            assigned_at: self.assigned_at?.0,
        })
    }
}

/// The values shown with these alerts, each with the key of its system.
pub async fn shown(
    db: &Db,
    alerts: &[(AlertKey, String)],
) -> Result<Vec<(AlertKey, AlertDetails)>, StoreError> {
    let mut details = Vec::with_capacity(alerts.len());
    for chunk in alerts.chunks(ROWS) {
        let alerts: Vec<_> = chunk.iter().collect();
        let alerts = if db.is_postgres() { at_least(LIKE_ANY_ARRAY, &alerts) } else { alerts };
        let mut columns = key_columns(alerts.iter().map(|(key, _)| key));
        columns.push(("k", Column::texts(alerts.iter().map(|(_, key)| key.as_str()))));
        let mut q = Q::new(
            "SELECT v.o, v.f, o.name AS org_name, o.type AS org_type, o.vat, s.name AS system_name, \
             s.type AS system_type, s.fqdn, s.ipv4_address, a.assigned_user_id, a.assigned_user_name, \
             a.assigned_user_org_id, a.assigned_user_org_name, a.assigned_at FROM ",
        );
        push_rows(&mut q, db.is_postgres(), columns);
        q.push(
            " [[JOIN||CROSS JOIN]] organizations o ON o.id = v.o \
             LEFT JOIN systems s ON s.system_key = v.k AND s.organization_id = v.o AND s.deleted_at IS NULL \
             LEFT JOIN alert_assignments a ON a.organization_id = v.o AND a.fingerprint = v.f",
        );
        let mut rows: Vec<ShownRow> = q.all(db).await?;
        rows.sort_by(|a, b| (a.o, &a.f).cmp(&(b.o, &b.f)));
        rows.dedup_by(|a, b| (a.o, &a.f) == (b.o, &b.f));
        details.extend(rows.into_iter().map(|row| {
            let assigned = row.assigned();
            let text = |t: &Option<String>| t.clone().unwrap_or_default();
            let system = row
                .system_name
                .as_ref()
                .map(|name| [name.clone(), text(&row.system_type), text(&row.fqdn), text(&row.ipv4_address)]);
            let organization = [row.org_name, row.org_type, row.vat.unwrap_or_default()];
            ((OrgId(row.o), row.f), AlertDetails { system, organization, assigned })
        }));
    }
    Ok(details)
}
