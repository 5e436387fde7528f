//! Test messages to recipients of the caller's own layer (spec: alert-configuration#test).

use super::*;
use bailiwick_store::audit::{self, Filter};
use bailiwick_testkit::{Persona, Reply};

const PATH: &str = "/api/alerts/config/test";

async fn send(test: &DeliveryTest, who: &Persona, channel: &str, recipient: &str) -> Reply {
    let body = json!({"channel": channel, "recipient": recipient});
    test.t.post(PATH).bearer(&who.token).json(body).send().await
}

on_both!(a_test_message_reaches_the_mailbox_and_the_webhook, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let ada = test.t.user(test.system_organization().await, &["admin"]).await;
    let sent = send(&test, &ada, "email", " NOC@example.org ").await;
    let sent = sent.expect_message(200, "test notification sent").data();
    let delivered =
        json!({"channel": "email", "recipient": "noc@example.org", "delivered": true, "error": null});
    assert_eq!(sent, delivered);
    let mails = test.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].subject().contains("TestNotification"), "{}", mails[0].subject());
    assert!(mails[0].body().contains("Questa"), "in the language of the recipient: {}", mails[0].body());

    let sent = send(&test, &ada, "webhook", "hook").await.expect(200).data();
    assert_eq!((&sent["delivered"], &sent["recipient"]), (&json!(true), &json!("hook")));
    let requests = test.hook.take();
    let body = requests[0].json().unwrap();
    assert_eq!((requests.len(), &body["alerts"][0]["labels"]["alertname"]), (1, &json!("TestNotification")));
    assert_eq!(body["alerts"][0]["labels"]["severity"], "info");

    // Each is on record, without a secret.
    let rows = audit::page(&test.t.app.platform.db, &Filter::default(), None, 50).await.unwrap();
    let rows: Vec<_> = rows.iter().filter(|row| row.action == "alert_config.test").collect();
    assert_eq!((rows.len(), rows[0].actor_user_id), (2, Some(ada.id)));
    assert!(rows.iter().all(|row| !format!("{row:?}").contains("/hook")));

    // Nothing of it is an alert or a failure.
    test.hook.answer_by(|_| Answer::status(500).body("secret of the other side"));
    let failed = send(&test, &ada, "webhook", "hook").await.expect(200).data();
    assert_eq!((&failed["delivered"], &failed["error"]), (&json!(false), &json!("answered with status 500")));
    let layer = test.t.get("/api/alerts/config").bearer(&ada.token).send().await.expect(200).data();
    assert_eq!(layer["warnings"], json!([]));
    let alerts = test.t.get("/api/alerts").bearer(&ada.token).send().await.expect(200).data();
    assert_eq!(alerts["alerts"], json!([]));
});

on_both!(only_recipients_of_the_own_layer_are_tested_and_seldom, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let organization = test.system_organization().await;
    let (ada, bob) =
        (test.t.user(organization, &["admin"]).await, test.t.user(organization, &["admin"]).await);
    let wrong = [
        (json!({}), vec![("channel", "required"), ("recipient", "required")]),
        (json!({"channel": "fax", "recipient": "1"}), vec![("channel", "invalid_value")]),
        (json!({"channel": "email", "recipient": " "}), vec![("recipient", "required")]),
        (json!({"channel": "email", "recipient": "other@example.org"}), vec![("recipient", "invalid_value")]),
        (json!({"channel": "telegram", "recipient": "7"}), vec![("recipient", "invalid_value")]),
    ];
    for (body, fields) in wrong {
        test.t.post(PATH).bearer(&ada.token).json(body).send().await.expect(400).expect_fields(&fields);
    }
    // Those of the organizations above are not one's own, and the owner cannot name another organization.
    let owner = test.t.owner().await;
    let path = format!("{PATH}?organization_id={organization}");
    let body = json!({"channel": "email", "recipient": "noc@example.org"});
    test.t.post(&path).bearer(&owner.token).json(body).send().await.expect(400);
    let reader = test.t.user(organization, &["reader"]).await;
    send(&test, &reader, "email", "noc@example.org").await.expect_message(403, "insufficient permissions");

    for _ in 0..5 {
        send(&test, &ada, "email", "noc@example.org").await.expect(200);
    }
    let refused = send(&test, &ada, "email", "noc@example.org").await;
    let refused = refused.expect_message(429, "rate limit exceeded");
    assert_eq!(refused.header("retry-after"), Some("12"));
    send(&test, &bob, "email", "noc@example.org").await.expect(200);
    test.t.advance(12 * SECOND);
    send(&test, &ada, "email", "noc@example.org").await.expect(200);
    assert_eq!(test.mails().len(), 7);
});

on_both!(test_mails_count_as_mails_of_the_organization_and_to_the_address, |engine| async {
    let test = DeliveryTest::with(engine, |settings| settings.limits.mails_per_recipient = 1).await;
    let ada = test.t.user(test.system_organization().await, &["admin"]).await;
    send(&test, &ada, "email", "noc@example.org").await.expect(200);
    let refused = send(&test, &ada, "email", "noc@example.org").await;
    let refused = refused.expect_message(429, "too many mails to this address in an hour");
    assert!(refused.header("retry-after").is_some());
    send(&test, &ada, "webhook", "hook").await.expect(200);
    assert_eq!(test.mails().len(), 1);
});
