//! Groups of active alerts, and the counting of alerts that are all at hand.

use super::alert_query::ActiveAlert;
use bailiwick_domain::{OrgId, Page};
use bailiwick_store::history::active_groups::{Group, GroupBy};
use std::{cmp::Reverse, collections::BTreeMap};

/// A page of groups.
#[derive(Clone, Debug)]
pub struct Groups {
    pub page: Page<Group>,
    /// The tenants that could not be asked.
    pub warnings: Vec<String>,
}

/// The groups of these alerts; those with the most critical alerts first.
pub(super) fn grouped(alerts: &[ActiveAlert], group_by: GroupBy) -> Vec<Group> {
    let mut groups: BTreeMap<(Option<OrgId>, String), Group> = BTreeMap::new();
    for ActiveAlert { alert, .. } in alerts {
        let label = |name: &str| alert.labels.value(name);
        let organization = label("organization_id").parse().ok().filter(|_| group_by != GroupBy::Name);
        let key = match group_by {
            GroupBy::Organization => "",
            GroupBy::System => label("system_key"),
            GroupBy::Name => label("alertname"),
        };
        let group = groups.entry((organization, key.to_owned())).or_insert_with(|| Group {
            organization: organization.map(|id| (id, label("organization_name").to_owned())),
            key: key.to_owned(),
            total: 0,
            critical: 0,
            warning: 0,
            first: alert.starts_at.to_ts(),
        });
        group.total += 1;
        group.critical += u64::from(label("severity") == "critical");
        group.warning += u64::from(label("severity") == "warning");
        group.first = group.first.min(alert.starts_at.to_ts());
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|g| (Reverse((g.critical, g.warning, g.total)), g.first));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn alert(name: &str, severity: &str, organization: u128) -> ActiveAlert {
        let organization = OrgId(uuid::Uuid::from_u128(organization));
        let alert = json!({
            "labels": {"alertname": name, "severity": severity, "system_key": "S",
                "organization_id": organization, "organization_name": "Alfa"},
            "annotations": {}, "receivers": [], "fingerprint": "0000000000000001",
            "startsAt": "2026-03-04T10:00:00.000Z", "endsAt": "2026-03-04T11:00:00.000Z",
            "updatedAt": "2026-03-04T10:00:00.000Z",
            "status": {"state": "active", "silencedBy": [], "inhibitedBy": [], "mutedBy": []},
        });
        ActiveAlert { alert: serde_json::from_value(alert).unwrap(), assigned: None }
    }

    #[test]
    fn alerts_at_hand_are_counted_like_stored_ones() {
        let all = [alert("A", "warning", 1), alert("B", "critical", 1), alert("A", "other", 2)];
        let shown = |group_by| -> Vec<(bool, String, u64, u64, u64)> {
            let groups = grouped(&all, group_by).into_iter();
            groups.map(|g| (g.organization.is_some(), g.key, g.total, g.critical, g.warning)).collect()
        };
        assert_eq!(shown(GroupBy::Name), [(false, "B".into(), 1, 1, 0), (false, "A".into(), 2, 0, 1)]);
        let systems = [(true, "S".to_owned(), 2, 1, 1), (true, "S".to_owned(), 1, 0, 0)];
        assert_eq!(shown(GroupBy::System), systems);
        assert_eq!(shown(GroupBy::Organization).len(), 2);
    }
}
