//! Alerts on both sides, their recipients, and events.

use super::{tree::Places, *};
use bailiwick_events as events;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::parts::recorder::{Answer, Recorder};
use futures_util::StreamExt;
use std::time::Duration;

const ROUTER: &str = "/services/mimir/alertmanager";

fn minutes_ahead(b: &Book<'_>, minutes: u32) -> String {
    b.test.app.platform.now().plus(Duration::from_secs(60) * minutes).rfc3339(0)
}

/// What Alertmanager tools do with the credential of a system.
async fn router(b: &mut Book<'_>, system: &Seeded) {
    let alert = json!([{
        "labels": {"alertname": "DiskSpaceLow", "severity": "warning", "mountpoint": "/"},
        "annotations": {"summary": "disk is filling"},
    }]);
    b.call(system, "pushAlerts", &format!("{ROUTER}/api/v2/alerts"), alert).await;
    crate::alerts::written(b.test).await;
    let filter = "?filter=alertname%3DDiskSpaceLow";
    b.ask(system, "listOwnAlerts", &format!("{ROUTER}/api/v2/alerts{filter}")).await;
    b.ask(system, "listOwnAlertGroups", &format!("{ROUTER}/api/v2/alerts/groups{filter}")).await;
    let silence = json!({
        "matchers": [{"name": "alertname", "value": "DiskSpaceLow", "isRegex": false, "isEqual": true}],
        "startsAt": minutes_ahead(b, 0), "endsAt": minutes_ahead(b, 60), "createdBy": "Ada Neri",
        "comment": "looking at it",
    });
    for (operation, end, name) in [
        ("getSilence", "expireSilence", "silences"),
        ("getSilenceSingular", "expireSilenceSingular", "silence"),
    ] {
        let made = b.call(system, "setSilence", &format!("{ROUTER}/api/v2/silences"), silence.clone()).await;
        b.ask(system, "listOwnSilences", &format!("{ROUTER}/api/v2/silences")).await;
        let one = format!("{ROUTER}/api/v2/{name}/{}", text(&made, "silenceID"));
        b.ask(system, operation, &one).await;
        b.ask(system, end, &one).await;
    }
    b.ask(system, "getRouterStatus", &format!("{ROUTER}/api/v2/status")).await;
    b.ask(system, "listReceivers", &format!("{ROUTER}/api/v2/receivers")).await;
    b.ask(Who::Nobody, "isRouterReady", &format!("{ROUTER}/-/ready")).await;
    b.ask(Who::Nobody, "isRouterHealthy", &format!("{ROUTER}/-/healthy")).await;
    b.ask(system, "getRouterMetrics", &format!("{ROUTER}/metrics")).await;
}

/// What the tools of people do with an API key.
async fn tools(b: &mut Book<'_>, owner: &Persona, places: &Places, system: &Seeded) {
    let (_, key) = b.test.api_key(owner.id, KeyMode::Write).await;
    let ada = || Who::Basic("ada", &key);
    let silence = json!({
        "matchers": [
            {"name": "system_key", "value": system.key, "isRegex": false, "isEqual": true},
            {"name": "alertname", "value": "DiskSpaceLow", "isRegex": false, "isEqual": true},
        ],
        "startsAt": minutes_ahead(b, 0), "endsAt": minutes_ahead(b, 60), "createdBy": "Ada Neri",
        "comment": "looking at it",
    });
    for (word, root) in [
        ("Organization", format!("/organizations/{}/alertmanager/api/v2", places.customer)),
        ("Tree", format!("/organizations/{}/tree/alertmanager/api/v2", places.distributor)),
    ] {
        let filter = "?filter=alertname%3DDiskSpaceLow";
        b.ask(ada(), &format!("list{word}Alerts"), &format!("{root}/alerts{filter}")).await;
        b.ask(ada(), &format!("list{word}AlertGroups"), &format!("{root}/alerts/groups{filter}")).await;
        let made =
            b.call(ada(), &format!("set{word}Silence"), &format!("{root}/silences"), silence.clone()).await;
        b.ask(ada(), &format!("list{word}Silences"), &format!("{root}/silences?expired=false")).await;
        let one = format!("{root}/silence/{}", text(&made, "silenceID"));
        b.ask(ada(), &format!("get{word}Silence"), &one).await;
        b.ask(ada(), &format!("expire{word}Silence"), &one).await;
        b.ask(ada(), &format!("get{word}RouterStatus"), &format!("{root}/status")).await;
        b.ask(ada(), &format!("list{word}Receivers"), &format!("{root}/receivers")).await;
        let metrics = root.replace("/api/v2", "/metrics");
        b.ask(ada(), &format!("get{word}RouterMetrics"), &metrics).await;
    }
}

async fn configuration(b: &mut Book<'_>, owner: &Persona, places: &Places) {
    let layer = json!({
        "enabled": {"email": true, "webhook": true, "telegram": null},
        "email_recipients": [{"address": "noc@alfa.example.org", "severities": ["critical", "warning"], "language": "it"}],
        "webhook_recipients": [{"name": "Tickets", "url": "https://9.9.9.9/alerts", "severities": ["critical"]}],
        "telegram_recipients": [],
    });
    let query = format!("?organization_id={}", places.distributor);
    for (path, alias) in [("/alerts/config", ""), ("/alerting/config", "Alias")] {
        b.call(owner, &format!("setAlertConfig{alias}"), &format!("{path}{query}"), layer.clone()).await;
        b.ask(owner, &format!("getAlertConfig{alias}"), &format!("{path}{query}")).await;
        if alias.is_empty() {
            let whole = format!("/alerts/config/effective?organization_id={}", places.customer);
            b.ask(owner, "getEffectiveAlertConfig", &whole).await;
        }
        b.ask(owner, &format!("disableAlerts{alias}"), &format!("{path}{query}")).await;
    }
}

async fn silences(
    b: &mut Book<'_>,
    owner: &Persona,
    organization: &str,
    filter: &str,
    within: &str,
    alert: &str,
) {
    let all = if filter.is_empty() { "/alerts/silences".to_owned() } else { within.to_owned() };
    let query = if filter.is_empty() { format!("?organization_id={organization}") } else { String::new() };
    let body = json!({"fingerprint": alert, "comment": "At work", "duration_minutes": 90});
    let made = b.call(owner, &format!("create{filter}Silence"), &format!("{all}{query}"), body).await;
    b.ask(owner, &format!("list{filter}Silences"), &format!("{all}{query}")).await;
    let one = |id: &str| format!("{all}/{id}{query}");
    let id = text(&made, "silence_id");
    b.ask(owner, &format!("get{filter}SilenceById"), &one(&id)).await;
    let change = json!({"end_at": minutes_ahead(b, 30), "comment": "Nearly done"});
    let made = b.call(owner, &format!("update{filter}Silence"), &one(&id), change).await;
    b.ask(owner, &format!("delete{filter}Silence"), &one(&text(&made, "silence_id"))).await;
}

async fn handling(b: &mut Book<'_>, owner: &Persona, places: &Places, system: &Seeded) {
    let of_system = format!("/systems/{}/alerts", system.id);
    let alert = json!([{
        "labels": {"alertname": "DiskSpaceLow", "severity": "warning", "mountpoint": "/"},
        "endsAt": minutes_ahead(b, 0),
    }]);
    let list = b.ask(owner, "listActiveAlerts", "/alerts?page=1&page_size=20&alertname=DiskSpaceLow").await;
    let fingerprint = text(&list["alerts"][0], "fingerprint");
    b.ask(owner, "listActiveAlertsAlias", "/alerting/alerts?page=1&page_size=20").await;
    b.ask(owner, "listSystemAlerts", &of_system).await;
    b.ask(owner, "getAlertFilters", "/filters/alerts").await;
    let query = format!("?organization_id={}", places.customer);
    let note = json!({"fingerprint": fingerprint, "note": "On my way"});
    b.call(owner, "assignAlert", &format!("/alerts/assignment{query}"), note).await;
    let note = json!({"fingerprint": fingerprint, "text": "The log partition"});
    b.call(owner, "addAlertNote", &format!("/alerts/notes{query}"), note).await;
    silences(b, owner, &places.customer, "", "", &fingerprint).await;
    silences(b, owner, &places.customer, "System", &format!("{of_system}/silences"), &fingerprint).await;
    b.ask(owner, "listAlertActivity", &format!("/alerts/activity/{fingerprint}{query}")).await;
    b.test.advance(Duration::from_secs(60));
    let call = b.test.post(&format!("/api{ROUTER}/api/v2/alerts")).basic(&system.key, &system.secret);
    call.json(alert).send().await.expect(200);
    crate::alerts::written(b.test).await;
    let alerts = json!({
        "version": "4", "receiver": "history", "status": "resolved", "groupLabels": {},
        "alerts": [{
            "status": "resolved", "labels": {"alertname": "LinkDown", "severity": "critical", "system_key": system.key},
            "annotations": {"summary": "no carrier"}, "startsAt": "2026-03-04T09:00:00Z", "endsAt": "2026-03-04T09:20:00Z",
        }],
    });
    b.call(Who::Bearer(HISTORY_SECRET), "saveAlertHistory", "/alert_history", alerts).await;
    b.ask(owner, "listAlertsHistory", "/alerts/history?page=1&page_size=20").await;
    b.ask(owner, "listSystemAlertsHistory", &format!("{of_system}/history")).await;
    b.ask(owner, "getAlertsTotals", "/alerts/totals").await;
    b.ask(owner, "getAlertsTrend", "/alerts/trend?period=7").await;
    b.ask(owner, "getAlertsStats", "/alerts/stats?top=3").await;
}

async fn event_subscription(b: &mut Book<'_>, owner: &Persona, system: &Seeded) {
    let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
    // The subscription gets no event of the time before it.
    events::number_all(&b.test.app.events).await.unwrap();
    b.hide(&sink.url(), "https://hooks.example.org");
    let all = "/events/subscriptions";
    let body = json!({"name": "Tickets", "url": format!("{}/bailiwick", sink.url()), "types": ["system.*", "alert.firing"]});
    let made = b.call(owner, "createEventSubscription", all, body).await["subscription"].take();
    let one = format!("{all}/{}", text(&made, "id"));
    b.ask(owner, "listEventSubscriptions", all).await;
    b.ask(owner, "getEventSubscription", &one).await;
    let body = json!({"name": "Ticket system", "types": ["system.*"], "enabled": true});
    b.call(owner, "updateEventSubscription", &one, body).await;
    b.ask(owner, "testEventSubscription", &format!("{one}/test")).await;
    b.ask(owner, "rotateEventSubscriptionSecret", &format!("{one}/rotate-secret")).await;
    let renamed = b.test.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token);
    renamed.json(json!({"name": "Milan cluster"})).send().await.expect(200);
    events::number_all(&b.test.app.events).await.unwrap();
    events::deliver::run_until_idle(&b.test.app.events).await.unwrap();
    b.ask(owner, "listEventDeliveries", &format!("{one}/deliveries")).await;
    let newest = b.ask(owner, "listEvents", "/events?types=system.updated&page_size=1").await;
    let id = newest["events"][0]["id"].clone();
    b.call(owner, "replayEvents", &format!("{one}/replay"), json!({"event_id": id})).await;
    b.ask(owner, "deleteEventSubscription", &one).await;
    stream(b, owner, &newest["events"][0]).await;
}

/// The beginning of the stream, from before the newest event on.
async fn stream(b: &mut Book<'_>, owner: &Persona, event: &Value) {
    let sequence: u64 = text(event, "sequence").parse().unwrap();
    let path = "/events/stream?types=system.updated";
    let call = b.test.get(&format!("/api{path}")).bearer(&owner.token);
    let response = call.header("last-event-id", &(sequence - 1).to_string()).open().await;
    assert_eq!(response.status(), 200);
    let mut body = response.into_body().into_data_stream();
    let mut text = String::new();
    while !(text.contains("data: ") && text.ends_with("\n\n")) {
        let more = tokio::time::timeout(bailiwick_testkit::PATIENCE, body.next()).await.expect("in time");
        text.push_str(std::str::from_utf8(&more.expect("not the end").unwrap()).unwrap());
    }
    b.keep_stream("streamEvents", path, &text);
}

pub async fn walk(b: &mut Book<'_>, owner: &Persona, places: &Places) {
    let body = json!({"name": "Turin cluster", "organization_id": places.customer});
    let made = b.test.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let system = Seeded {
        id: text(&made, "id").parse().unwrap(),
        key: text(&made, "system_key"),
        secret: text(&made, "system_secret"),
    };
    b.hide(&system.key, "SYS-1F0C-88D1-4E2A-9B37-C05D-6A7E-21F4-B8D9");
    let call = b.test.post("/api/systems/register").json(json!({"system_secret": system.secret}));
    call.send().await.expect(200);
    configuration(b, owner, places).await;
    router(b, &system).await;
    tools(b, owner, places, &system).await;
    handling(b, owner, places, &system).await;
    event_subscription(b, owner, &system).await;
    b.ask(owner, "search", "/search?q=milan&kinds=systems&limit=5").await;
    b.ask(owner, "listAudit", &format!("/audit?object_id={}&action=system.update", system.id)).await;
    test_message(b, owner).await;
}

async fn test_message(b: &mut Book<'_>, owner: &Persona) {
    let hook = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let recipient = json!({"name": "Tickets", "url": format!("{}/alerts", hook.url())});
    b.test.alert_layer(owner.org, json!({"webhook_recipients": [recipient]})).await;
    let body = json!({"channel": "webhook", "recipient": "Tickets"});
    b.call(owner, "testAlertRecipient", "/alerts/config/test", body).await;
}
