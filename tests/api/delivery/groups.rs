//! The notifications of a group, and their times.

use super::*;
use bailiwick_alerts as alerts;

// Proves spec: acceptance#scenarios 34.
on_both!(one_mail_and_one_webhook_for_each_news, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], None).await;
    test.after(29 * SECOND).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    assert_eq!(test.mails().len(), 1);

    // A refresh sends nothing.
    test.push(&["a"], None).await;
    test.after(6 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);

    test.push(&["b"], None).await;
    test.after(4 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(MINUTE).await;
    assert_eq!(test.received(), ["new alerts added firing: a firing, b firing"]);

    test.push(&["a"], Some(0)).await;
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["some alerts resolved firing: a resolved, b firing"]);
    test.after(5 * MINUTE).await;
    // An alert has left the group after the notification of its end.
    test.push(&["c"], None).await;
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["new alerts added firing: b firing, c firing"]);

    test.push(&["b", "c"], Some(0)).await;
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["all alerts resolved resolved: b resolved, c resolved"]);
    test.after(24 * 60 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);

    let subjects: Vec<String> = test.mails().iter().map(|m| m.subject().to_owned()).collect();
    let name = subjects[0].strip_prefix("[FIRING:1] DiskFull ").unwrap().to_owned();
    let expected = ["[FIRING:1]", "[FIRING:2]", "[FIRING:1]", "[FIRING:2]", "[RESOLVED]"];
    assert_eq!(subjects, expected.map(|head| format!("{head} DiskFull {name}")));
    // The group leaves nothing behind but its rows in the notification log.
    let count = async |table: &str| {
        Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}"))
            .count(&test.t.app.platform.db)
            .await
            .unwrap()
    };
    assert_eq!((count("router_groups").await, count("router_notices").await), (0, 2));
});

// Proves spec: acceptance#scenarios 34.
on_both!(a_webhook_and_a_mail_say_exactly_this, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    // A recipient who wants no HTML, and does not state a language.
    let mut layer = test.layer();
    let plain = json!({"address": "plain@example.org", "format": "plain"});
    layer["email_recipients"].as_array_mut().unwrap().push(plain);
    let path = format!("/api/alerts/config?organization_id={}", test.system_organization().await);
    let owner = test.t.owner().await;
    test.t.post(&path).bearer(&owner.token).json(layer).send().await.expect(200);
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    let request = test.hook.take().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/hook"));
    assert_eq!(request.value("content-type"), Some("application/json"));
    assert!(request.value("user-agent").unwrap().starts_with("Bailiwick/"));
    let body = request.json().unwrap();
    let (key, organization) = (&test.system.key, body["groupLabels"]["organization_id"].as_str().unwrap());
    assert_eq!(
        body["groupLabels"],
        json!({"alertname": "DiskFull", "organization_id": organization, "system_key": key})
    );
    assert_eq!(
        body["groupKey"],
        format!(
            "{{}}/{{organization_id=\"{organization}\"}}/{{severity=\"critical\"}}:{{alertname=\"DiskFull\", \
             organization_id=\"{organization}\", system_key=\"{key}\"}}"
        )
    );
    assert_eq!(body["receiver"], format!("{organization}-severity-critical-receiver"));
    assert_eq!(
        (&body["version"], &body["truncatedAlerts"], &body["externalURL"]),
        (&json!("4"), &json!(0), &json!("https://bailiwick.example.org"))
    );
    assert_eq!(body["alerts"][0]["endsAt"], "0001-01-01T00:00:00Z");
    assert_eq!(body["alerts"][0]["startsAt"], ManualClock::START.rfc3339(0));
    assert_eq!(body["commonLabels"], body["alerts"][0]["labels"]);

    let mut mails = test.mails();
    mails.sort_by(|a, b| a.to.cmp(&b.to));
    let [mail, plain] = mails.try_into().expect("two mails");
    assert_eq!(mail.to, ["noc@example.org"]);
    assert_eq!(mail.kinds, ["multipart/alternative", "text/plain", "text/html"]);
    assert!(mail.headers["references"].starts_with("<alert-") && mail.headers["references"].len() > 24);
    assert_eq!(mail.headers["references"], mail.headers["in-reply-to"]);
    assert_eq!(mail.headers["auto-submitted"], "auto-generated");
    let link = format!("https://ui.example.org/systems/{}", test.system.id);
    for part in ["Allarmi", "DiskFull (critical, attivo)", "a is full", "Dal: 04/03/2026 10:00 UTC", &link] {
        assert!(mail.body().contains(part), "{part}\n{}", mail.body());
    }
    assert!(mail.html.unwrap().contains("a is full"));
    assert_eq!(
        (&plain.to[..], plain.kinds, plain.html),
        (&["plain@example.org".to_owned()][..], vec!["text/plain".to_owned()], None)
    );
    let body = plain.text.expect("a text");
    for part in ["DiskFull (critical, firing)", "a is full", &link] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    assert!(!body.contains('<') && !body.contains("attivo"), "{body}");
});

on_both!(old_alerts_are_sent_at_once, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    let mut alert = test.alert("a", None);
    alert["startsAt"] = json!(ManualClock::START.minus(31 * SECOND).rfc3339(0));
    test.client().push(&json!([alert]).to_string()).await.expect(200);
    test.after(Duration::ZERO).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
});

on_both!(alerts_resolved_before_the_first_flush_are_not_sent, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], Some(10)).await;
    test.after(30 * SECOND).await;
    test.after(10 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);
});

on_both!(silences_stop_it_and_their_end_lets_it_through, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a", "b"], None).await;
    let now = test.t.app.platform.now();
    let silence = json!({
        "matchers": [{"name": "mount", "value": "a", "isRegex": false}], "comment": "c", "createdBy": "me",
        "startsAt": now.rfc3339(0), "endsAt": now.plus(10 * MINUTE).rfc3339(0),
    });
    test.client().silence(&silence.to_string()).await.expect(200);
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: b firing"]);
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["new alerts added firing: a firing, b firing"]);
});

on_both!(a_reminder_after_a_long_time, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], Some(100_000)).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received().len(), 1);
    test.after(12 * 60 * MINUTE).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["repeat interval elapsed firing: a firing"]);
});

on_both!(a_change_of_the_configuration_acts_at_once_and_repeats_nothing, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!((test.received().len(), test.mails().len()), (1, 1));
    let organization = test.system_organization().await;
    // The change adds a recipient in front of the present ones, another language, and one more webhook.
    let other = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let mut layer = test.layer();
    layer["email_recipients"] = json!([{"address": "new@example.org"}, {"address": "noc@example.org"}]);
    layer["webhook_recipients"] =
        json!([{"name": "other", "url": other.url()}, layer["webhook_recipients"][0]]);
    test.t.alert_layer(organization, layer).await;
    test.after(SECOND).await;
    assert_eq!(test.received(), [""; 0]);
    assert_eq!(other.take().iter().map(summary).collect::<Vec<_>>(), ["first notification firing: a firing"]);
    let mails = test.mails();
    assert_eq!((mails.len(), mails[1].to[0].as_str()), (2, "new@example.org"));
    // There is no recipient any more. An alert of this time leads to a notification once there is a recipient again.
    test.t.alert_layer(organization, json!({"enabled": {}})).await;
    test.push(&["b"], None).await;
    test.after(10 * MINUTE).await;
    assert_eq!((test.received().len(), test.mails().len()), (0, 2));
    test.t.alert_layer(organization, test.layer()).await;
    test.after(SECOND).await;
    assert_eq!(test.received(), ["new alerts added firing: a firing, b firing"]);
    assert_eq!(test.mails().len(), 3);
});

on_both!(rows_stay_until_the_resolved_notification_and_not_for_ever, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    let rows = async || {
        alerts::purge_ended(&test.t.app.alerts).await.unwrap();
        let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts");
        q.count(&test.t.app.platform.db).await.unwrap()
    };
    // The service has been up for long enough to judge.
    test.after(60 * MINUTE).await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    test.push(&["a"], Some(0)).await;
    test.after(14 * MINUTE).await;
    assert_eq!((test.received().len(), rows().await), (2, 1));
    test.after(2 * MINUTE).await;
    assert_eq!(rows().await, 0);
    // No recipient can be notified: the group is kept for 45 min.
    test.push(&["b"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received().len(), 1);
    test.hook.answer_by(|_| Answer::status(400));
    test.push(&["b"], Some(0)).await;
    for _ in 0..8 {
        test.after(5 * MINUTE).await;
    }
    assert_eq!(rows().await, 1);
    test.after(6 * MINUTE).await;
    assert_eq!(rows().await, 0);
    test.after(10 * MINUTE).await;
});

// Proves spec: acceptance#scenarios 34.
on_both!(telegram_messages_are_in_the_language_of_the_recipient, |engine| async {
    let bots = Recorder::start(|_| Answer::json(200, &json!({"ok": true}))).await.unwrap();
    let api = bots.url();
    let test = DeliveryTest::step_by_step(engine, move |settings| {
        settings.alerting.telegram = true;
        settings.alerting.telegram_api = api;
    })
    .await;
    let organization = test.system_organization().await;
    let layer = json!({"enabled": {"telegram": true},
        "telegram_recipients": [{"bot_token": "12:ab-C_d", "chat_id": -100_123, "language": "it"}]});
    test.t.alert_layer(organization, layer).await;
    test.push(&["<a>"], None).await;
    test.after(30 * SECOND).await;
    let sent = bots.take().remove(0);
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/bot12:ab-C_d/sendMessage"));
    let body = sent.json().unwrap();
    assert_eq!((&body["chat_id"], &body["parse_mode"]), (&json!(-100_123), &json!("HTML")));
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("<b>🔴 DiskFull</b> (critical, attivo)\n&lt;a&gt; is full\n"), "{text}");
});
