//! Reads what the service answers, and judges whether it belongs to the asker.

use crate::world::{Person, World};
use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

/// What is wrong with an answer of 200 or 202.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Not of the form.
    Unreadable,
    /// It holds data outside what the caller may see.
    Foreign(String),
}

/// A time of the service in microseconds.
pub(crate) fn micros(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond)
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

fn data<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Wrong> {
    serde_json::from_slice::<Envelope<T>>(body).map(|e| e.data).map_err(|_| Wrong::Unreadable)
}

fn time(text: &str) -> Result<i64, Wrong> {
    micros(text).ok_or(Wrong::Unreadable)
}

fn own_key(found: &str, own: &str) -> Result<(), Wrong> {
    if found == own { Ok(()) } else { Err(Wrong::Foreign(format!("{own} is answered about {found}"))) }
}

/// The acknowledged time of a heartbeat.
pub(crate) fn heartbeat(body: &[u8], own: &str) -> Result<i64, Wrong> {
    #[derive(Deserialize)]
    struct Beat<'a> {
        system_key: &'a str,
        last_heartbeat: &'a str,
    }
    let beat: Beat<'_> = data(body)?;
    own_key(beat.system_key, own)?;
    time(beat.last_heartbeat)
}

/// The time of receipt of an inventory.
pub(crate) fn receipt(body: &[u8], own: &str) -> Result<i64, Wrong> {
    #[derive(Deserialize)]
    struct Receipt<'a> {
        system_key: &'a str,
        timestamp: &'a str,
    }
    let receipt: Receipt<'_> = data(body)?;
    own_key(receipt.system_key, own)?;
    time(receipt.timestamp)
}

/// That a registration, or a system's question about itself, is answered about that system.
pub(crate) fn about_itself(body: &[u8], own: &str) -> Result<(), Wrong> {
    #[derive(Deserialize)]
    struct About<'a> {
        system_key: &'a str,
    }
    own_key(data::<About<'_>>(body)?.system_key, own)
}

/// An alert that is active or was: its name and its start in microseconds.
pub(crate) type Seen = (String, i64);

#[derive(Deserialize)]
struct Labels {
    #[serde(default)]
    alertname: String,
    #[serde(default)]
    system_key: String,
    #[serde(default)]
    organization_id: Option<Uuid>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Alert {
    labels: Labels,
    starts_at: String,
}

/// The alerts that a system reads about itself.
pub(crate) fn own_alerts(body: &[u8], own: &str) -> Result<Vec<Seen>, Wrong> {
    let alerts: Vec<Alert> = serde_json::from_slice(body).map_err(|_| Wrong::Unreadable)?;
    let seen = |alert: Alert| {
        if alert.labels.system_key != own {
            let (name, other) = (alert.labels.alertname, alert.labels.system_key);
            return Err(Wrong::Foreign(format!("{own} reads the alert {name} of {other}")));
        }
        Ok((alert.labels.alertname, time(&alert.starts_at)?))
    };
    alerts.into_iter().map(seen).collect()
}

/// The resolved alerts of a system, and whether there are more on the next page.
pub(crate) fn history(body: &[u8], own: &str) -> Result<(Vec<Seen>, bool), Wrong> {
    #[derive(Deserialize)]
    struct Row {
        alertname: String,
        system_key: String,
        starts_at: String,
    }
    #[derive(Deserialize)]
    struct History {
        alerts: Vec<Row>,
        pagination: Pagination,
    }
    let history: History = data(body)?;
    let seen = |row: Row| own_key(&row.system_key, own).and(Ok((row.alertname, time(&row.starts_at)?)));
    Ok((history.alerts.into_iter().map(seen).collect::<Result<_, _>>()?, history.pagination.has_next))
}

#[derive(Deserialize)]
struct Pagination {
    has_next: bool,
}

/// The inventory records of a system, newest first, as their times and documents, and whether there are more.
pub(crate) fn records(body: &[u8], own: Uuid) -> Result<(Vec<(i64, serde_json::Value)>, bool), Wrong> {
    #[derive(Deserialize)]
    struct Record {
        system_id: Uuid,
        timestamp: String,
        data: serde_json::Value,
    }
    #[derive(Deserialize)]
    struct Records {
        records: Vec<Record>,
        pagination: Pagination,
    }
    let records: Records = data(body)?;
    let record = |record: Record| {
        if record.system_id != own {
            return Err(Wrong::Foreign(format!("a record of {} is shown for {own}", record.system_id)));
        }
        Ok((time(&record.timestamp)?, record.data))
    };
    Ok((records.records.into_iter().map(record).collect::<Result<_, _>>()?, records.pagination.has_next))
}

/// The last heartbeat and the registration of a system, as the owner reads it.
pub(crate) fn system(body: &[u8], own: Uuid) -> Result<(Option<i64>, Option<i64>), Wrong> {
    #[derive(Deserialize)]
    struct System {
        id: Uuid,
        last_heartbeat: Option<String>,
        registered_at: Option<String>,
    }
    let system: System = data(body)?;
    if system.id != own {
        return Err(Wrong::Foreign(format!("{} is shown for {own}", system.id)));
    }
    let read = |text: Option<String>| text.as_deref().map(time).transpose();
    Ok((read(system.last_heartbeat)?, read(system.registered_at)?))
}

/// The organization of a person and whether it is the owner.
pub(crate) fn me(body: &[u8]) -> Result<(Uuid, bool), Wrong> {
    #[derive(Deserialize)]
    struct Me<'a> {
        organization_id: Uuid,
        org_role_id: &'a str,
    }
    let me: Me<'_> = data(body)?;
    Ok((me.organization_id, me.org_role_id == "owner"))
}

/// How many rows of a person's list are their own; of the others this world does not know the organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub own: u64,
    pub unknown: u64,
}

/// A list of systems, alerts or users, or what a search has found, as this person got it.
pub(crate) fn page(body: &[u8], world: &World, person: &Person) -> Result<Rows, Wrong> {
    #[derive(Deserialize)]
    struct Organization {
        id: Uuid,
    }
    #[derive(Deserialize)]
    struct Row {
        #[serde(default)]
        organization: Option<Organization>,
        #[serde(default)]
        labels: Option<Labels>,
    }
    #[derive(Deserialize)]
    struct Found {
        items: Vec<Row>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum List {
        Rows(Vec<Row>),
        Found(Found),
    }
    #[derive(Deserialize)]
    struct Page {
        systems: Option<List>,
        users: Option<List>,
        alerts: Option<List>,
    }
    let page: Page = data(body)?;
    let lists: Vec<List> = [page.systems, page.users, page.alerts].into_iter().flatten().collect();
    if lists.is_empty() {
        return Err(Wrong::Unreadable);
    }
    let mut rows = Rows::default();
    for row in lists.into_iter().flat_map(|list| match list {
        List::Rows(rows) | List::Found(Found { items: rows }) => rows,
    }) {
        let of_labels = row.labels.and_then(|labels| labels.organization_id);
        let organization = row.organization.map(|o| o.id).or(of_labels).ok_or(Wrong::Unreadable)?;
        match world.is_within(organization, person) {
            Some(true) => rows.own += 1,
            None => rows.unknown += 1,
            Some(false) => {
                let home = person.organization;
                return Err(Wrong::Foreign(format!("somebody of {home} is shown a row of {organization}")));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::{CUSTOMER, DISTRIBUTOR, OTHER, lines, person};
    use serde_json::{Value, json};

    fn enveloped(data: Value) -> Vec<u8> {
        json!({ "code": 200, "message": "done", "data": data }).to_string().into_bytes()
    }

    fn is_foreign<T: std::fmt::Debug>(judged: Result<T, Wrong>) -> bool {
        matches!(judged, Err(Wrong::Foreign(_)))
    }

    #[test]
    fn acknowledgements_are_read_and_belong_to_the_system() {
        let body = enveloped(json!({ "system_key": "SYS-1", "acknowledged": true,
            "last_heartbeat": "2026-03-04T06:10:00.120000Z", "timestamp": "1970-01-01T00:00:01.5Z" }));
        assert_eq!(heartbeat(&body, "SYS-1"), Ok(1_772_604_600_120_000));
        assert_eq!(receipt(&body, "SYS-1"), Ok(1_500_000));
        assert_eq!(about_itself(&body, "SYS-1"), Ok(()));
        assert!(is_foreign(heartbeat(&body, "SYS-2")));
        assert!(is_foreign(receipt(&body, "SYS-2")));
        assert!(is_foreign(about_itself(&body, "SYS-2")));
        assert_eq!(heartbeat(b"OK", "SYS-1"), Err(Wrong::Unreadable));
        assert_eq!(heartbeat(&enveloped(Value::Null), "SYS-1"), Err(Wrong::Unreadable));
    }

    #[test]
    fn a_system_reads_its_own_alerts_only() {
        let alert = |key: &str| {
            json!({ "labels": { "alertname": "SwapFull", "system_key": key }, "startsAt": "1970-01-01T00:00:02.000Z",
                "status": { "state": "active" } })
        };
        let body = json!([alert("SYS-1")]).to_string();
        assert_eq!(own_alerts(body.as_bytes(), "SYS-1"), Ok(vec![("SwapFull".to_owned(), 2_000_000)]));
        let mixed = json!([alert("SYS-1"), alert("SYS-2")]).to_string();
        assert!(is_foreign(own_alerts(mixed.as_bytes(), "SYS-1")));
        let row =
            json!({ "alertname": "SwapFull", "system_key": "SYS-1", "starts_at": "1970-01-01T00:00:02Z" });
        let body = enveloped(json!({ "alerts": [row], "pagination": { "has_next": true } }));
        assert_eq!(history(&body, "SYS-1"), Ok((vec![("SwapFull".to_owned(), 2_000_000)], true)));
        assert!(is_foreign(history(&body, "SYS-2")));
    }

    #[test]
    fn records_and_systems_are_those_asked_for() {
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let record =
            json!({ "id": 7, "system_id": one, "timestamp": "1970-01-01T00:00:03Z", "data": { "a": 1 } });
        let body = enveloped(json!({ "records": [record], "pagination": { "has_next": false } }));
        assert_eq!(records(&body, one), Ok((vec![(3_000_000, json!({ "a": 1 }))], false)));
        assert!(is_foreign(records(&body, two)));
        let body = enveloped(json!({ "id": one, "registered_at": "1970-01-01T00:00:01Z" }));
        assert_eq!(system(&body, one), Ok((None, Some(1_000_000))));
        assert!(is_foreign(system(&body, two)));
    }

    #[test]
    fn pages_of_people_have_rows_of_their_branch_only() {
        let world = World::read(&lines(&["registered"; 2]), 10).unwrap();
        let row = |id: Uuid| json!({ "organization": { "id": id, "name": "x" } });
        let list = |ids: &[Uuid]| {
            let rows: Vec<Value> = ids.iter().map(|id| row(*id)).collect();
            enveloped(json!({ "systems": rows, "pagination": {} }))
        };
        let judge = |body: Vec<u8>, who| page(&body, &world, &person(who));
        let stranger = Uuid::from_u128(77);
        assert_eq!(
            judge(list(&[CUSTOMER, DISTRIBUTOR, stranger]), DISTRIBUTOR),
            Ok(Rows { own: 2, unknown: 1 })
        );
        assert!(is_foreign(judge(list(&[DISTRIBUTOR]), CUSTOMER)));
        assert!(is_foreign(judge(list(&[CUSTOMER, OTHER]), DISTRIBUTOR)));
        let alerts = |id: Uuid| enveloped(json!({ "alerts": [{ "labels": { "organization_id": id } }] }));
        assert_eq!(judge(alerts(CUSTOMER), CUSTOMER), Ok(Rows { own: 1, unknown: 0 }));
        assert!(is_foreign(judge(alerts(OTHER), CUSTOMER)));
        let found = |id: Uuid| {
            enveloped(
                json!({ "organizations": null, "users": null, "systems": { "items": [row(id)], "total_count": 1 } }),
            )
        };
        assert_eq!(judge(found(CUSTOMER), CUSTOMER), Ok(Rows { own: 1, unknown: 0 }));
        assert!(is_foreign(judge(found(OTHER), CUSTOMER)));
        assert_eq!(judge(enveloped(json!({ "rows": [] })), CUSTOMER), Err(Wrong::Unreadable));
    }

    #[test]
    fn people_know_their_organization() {
        let body = enveloped(json!({ "organization_id": CUSTOMER, "org_role_id": "owner" }));
        assert_eq!(me(&body), Ok((CUSTOMER, true)));
    }
}
