//! The notifications of a group, and their times.

use super::*;
use bailiwick_alerts as alerting;

// Proves spec: acceptance#scenarios 34.
on_both!(one_mail_and_one_webhook_for_each_news, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], None).await;
    told.after(29 * SECOND).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    assert_eq!(told.mails().len(), 1);

    // A refresh says nothing new.
    told.push(&["a"], None).await;
    told.after(6 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);

    told.push(&["b"], None).await;
    told.after(4 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(MINUTE).await;
    assert_eq!(told.heard(), ["new alerts added firing: a firing, b firing"]);

    told.push(&["a"], Some(0)).await;
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["some alerts resolved firing: a resolved, b firing"]);
    told.after(5 * MINUTE).await;
    // An alert has left the group after the notification of its end.
    told.push(&["c"], None).await;
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["new alerts added firing: b firing, c firing"]);

    told.push(&["b", "c"], Some(0)).await;
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["all alerts resolved resolved: b resolved, c resolved"]);
    told.after(24 * 60 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);

    let subjects: Vec<String> = told.mails().iter().map(|m| m.subject().to_owned()).collect();
    let name = subjects[0].strip_prefix("[FIRING:1] DiskFull ").unwrap().to_owned();
    let expected = ["[FIRING:1]", "[FIRING:2]", "[FIRING:1]", "[FIRING:2]", "[RESOLVED]"];
    assert_eq!(subjects, expected.map(|head| format!("{head} DiskFull {name}")));
    // The group leaves nothing behind but its rows in the notification log.
    let count = async |table: &str| {
        Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}"))
            .count(&told.t.app.platform.db)
            .await
            .unwrap()
    };
    assert_eq!((count("router_groups").await, count("router_notices").await), (0, 2));
});

// Proves spec: acceptance#scenarios 34.
on_both!(a_webhook_and_a_mail_say_exactly_this, |engine| async {
    let told = DeliveryTest::start(engine).await;
    // A recipient who wants no HTML, and does not state a language.
    let mut layer = told.layer();
    let plain = json!({"address": "plain@example.org", "format": "plain"});
    layer["email_recipients"].as_array_mut().unwrap().push(plain);
    let path = format!("/api/alerts/config?organization_id={}", told.system_organization().await);
    let owner = told.t.owner().await;
    told.t.post(&path).bearer(&owner.token).json(layer).send().await.expect(200);
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    let request = told.hook.take().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/hook"));
    assert_eq!(request.value("content-type"), Some("application/json"));
    assert!(request.value("user-agent").unwrap().starts_with("Bailiwick/"));
    let body = request.json().unwrap();
    let (key, organization) = (&told.system.key, body["groupLabels"]["organization_id"].as_str().unwrap());
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

    let mut mails = told.mails();
    mails.sort_by(|a, b| a.to.cmp(&b.to));
    let [mail, plain] = mails.try_into().expect("two mails");
    assert_eq!(mail.to, ["noc@example.org"]);
    assert_eq!(mail.kinds, ["multipart/alternative", "text/plain", "text/html"]);
    assert!(mail.headers["references"].starts_with("<alert-") && mail.headers["references"].len() > 24);
    assert_eq!(mail.headers["references"], mail.headers["in-reply-to"]);
    assert_eq!(mail.headers["auto-submitted"], "auto-generated");
    let link = format!("https://ui.example.org/systems/{}", told.system.id);
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

on_both!(what_is_old_is_told_at_once, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let mut alert = told.alert("a", None);
    alert["startsAt"] = json!(ManualClock::START.minus(31 * SECOND).rfc3339(0));
    told.client().push(&json!([alert]).to_string()).await.expect(200);
    told.after(Duration::ZERO).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
});

on_both!(what_is_over_before_it_is_told_is_not_told, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], Some(10)).await;
    told.after(30 * SECOND).await;
    told.after(10 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);
});

on_both!(silences_stop_it_and_their_end_lets_it_through, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a", "b"], None).await;
    let now = told.t.app.platform.now();
    let silence = json!({
        "matchers": [{"name": "mount", "value": "a", "isRegex": false}], "comment": "c", "createdBy": "me",
        "startsAt": now.rfc3339(0), "endsAt": now.plus(10 * MINUTE).rfc3339(0),
    });
    told.client().silence(&silence.to_string()).await.expect(200);
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: b firing"]);
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["new alerts added firing: a firing, b firing"]);
});

on_both!(a_reminder_after_a_long_time, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], Some(100_000)).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard().len(), 1);
    told.after(12 * 60 * MINUTE).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["repeat interval elapsed firing: a firing"]);
});

on_both!(a_change_of_the_configuration_acts_at_once_and_repeats_nothing, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!((told.heard().len(), told.mails().len()), (1, 1));
    let organization = told.system_organization().await;
    // The change adds a recipient in front of the present ones, another language, and one more webhook.
    let other = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let mut layer = told.layer();
    layer["email_recipients"] = json!([{"address": "new@example.org"}, {"address": "noc@example.org"}]);
    layer["webhook_recipients"] =
        json!([{"name": "other", "url": other.url()}, layer["webhook_recipients"][0]]);
    told.t.alert_layer(organization, layer).await;
    told.after(SECOND).await;
    assert_eq!(told.heard(), [""; 0]);
    assert_eq!(other.take().iter().map(said).collect::<Vec<_>>(), ["first notification firing: a firing"]);
    let mails = told.mails();
    assert_eq!((mails.len(), mails[1].to[0].as_str()), (2, "new@example.org"));
    // There is no recipient any more. An alert of this time leads to a notification once there is a recipient again.
    told.t.alert_layer(organization, json!({"enabled": {}})).await;
    told.push(&["b"], None).await;
    told.after(10 * MINUTE).await;
    assert_eq!((told.heard().len(), told.mails().len()), (0, 2));
    told.t.alert_layer(organization, told.layer()).await;
    told.after(SECOND).await;
    assert_eq!(told.heard(), ["new alerts added firing: a firing, b firing"]);
    assert_eq!(told.mails().len(), 3);
});

on_both!(rows_stay_until_the_end_is_told_and_not_for_ever, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let rows = async || {
        alerting::purge_ended(&told.t.app.alerts).await.unwrap();
        let q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM router_alerts");
        q.count(&told.t.app.platform.db).await.unwrap()
    };
    // The service has been up for long enough to judge.
    told.after(60 * MINUTE).await;
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    told.push(&["a"], Some(0)).await;
    told.after(14 * MINUTE).await;
    assert_eq!((told.heard().len(), rows().await), (2, 1));
    told.after(2 * MINUTE).await;
    assert_eq!(rows().await, 0);
    // No recipient can be notified: the group is kept for 45 min.
    told.push(&["b"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard().len(), 1);
    told.hook.answer_by(|_| Answer::status(400));
    told.push(&["b"], Some(0)).await;
    for _ in 0..8 {
        told.after(5 * MINUTE).await;
    }
    assert_eq!(rows().await, 1);
    told.after(6 * MINUTE).await;
    assert_eq!(rows().await, 0);
    told.after(10 * MINUTE).await;
});

// Proves spec: acceptance#scenarios 34.
on_both!(telegram_is_told_in_the_language_of_the_recipient, |engine| async {
    let bots = Recorder::start(|_| Answer::json(200, &json!({"ok": true}))).await.unwrap();
    let api = bots.url();
    let told = DeliveryTest::with(engine, move |settings| {
        settings.alerting.telegram = true;
        settings.alerting.telegram_api = api;
    })
    .await;
    let organization = told.system_organization().await;
    let layer = json!({"enabled": {"telegram": true},
        "telegram_recipients": [{"bot_token": "12:ab-C_d", "chat_id": -100_123, "language": "it"}]});
    told.t.alert_layer(organization, layer).await;
    told.push(&["<a>"], None).await;
    told.after(30 * SECOND).await;
    let sent = bots.take().remove(0);
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/bot12:ab-C_d/sendMessage"));
    let body = sent.json().unwrap();
    assert_eq!((&body["chat_id"], &body["parse_mode"]), (&json!(-100_123), &json!("HTML")));
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("<b>🔴 DiskFull</b> (critical, attivo)\n&lt;a&gt; is full\n"), "{text}");
});
