//! Waiting mails are kept, tried again, and end.

use super::*;
use bailiwick_settings::Security;
use bailiwick_testkit::parts::{ports, smtp::Setup};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

mail_test!(a_delayed_mail_is_tried_again_and_its_password_is_readable_nowhere, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    sink.answer(Some("451 come back later")).unwrap();
    create(&t, &owner, "m@example.org", home).await;
    assert_eq!(deliver(&t, &sink).await.len(), 0);
    let waiting = jobs(&t).await;
    assert_eq!((waiting.len(), waiting[0].is_ended), (1, false));
    assert!(waiting[0].error.as_ref().unwrap().contains("451"), "{waiting:?}");
    sink.answer(None).unwrap();
    assert_eq!(deliver(&t, &sink).await.len(), 0, "not before its time");
    t.advance(MINUTE);
    let password = password_in(&last(&deliver(&t, &sink).await, 1));
    assert!(!waiting[0].payload.contains(&password), "{waiting:?}");
    assert_eq!(jobs(&t).await.len(), 0, "nothing of it is left");
    t.advance(MINUTE);
    assert_eq!(deliver(&t, &sink).await.len(), 1);
});

mail_test!(a_refused_mail_ends_where_it_can_be_seen_and_without_its_password, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    sink.answer(Some("550 no such user here")).unwrap();
    create(&t, &owner, "m@example.org", home).await;
    deliver(&t, &sink).await;
    let ended = jobs(&t).await;
    assert!(ended.len() == 1 && ended[0].is_ended, "{ended:?}");
    assert!(ended[0].error.as_ref().unwrap().contains("no such user here"), "{ended:?}");
    let payload: Value = serde_json::from_str(&ended[0].payload).unwrap();
    assert_eq!((&payload["mail"], &payload["sealed"]), (&json!("welcome"), &json!("")));
    sink.answer(None).unwrap();
    t.advance(Duration::from_secs(86_400));
    assert_eq!(deliver(&t, &sink).await.len(), 0, "not tried again");
    assert_eq!(mail::purge(&t.app.events).await.unwrap(), 0);
    t.advance(Duration::from_secs(31 * 86_400));
    assert_eq!(mail::purge(&t.app.events).await.unwrap(), 1);
});

mail_test!(an_endless_delay_ends, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    sink.answer(Some("451 never")).unwrap();
    create(&t, &owner, "m@example.org", home).await;
    let mut tries = 0;
    while !jobs(&t).await[0].is_ended {
        deliver(&t, &sink).await;
        t.advance(Duration::from_secs(4 * 3600));
        tries += 1;
        assert!(tries <= 21, "{:?}", jobs(&t).await);
    }
});

mail_test!(what_makes_no_sense_any_more_is_not_sent, |t, sink| async move {
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    sink.answer(Some("451 later")).unwrap();
    let deleted = create(&t, &owner, "deleted@example.org", home).await;
    let reset = create(&t, &owner, "reset@example.org", home).await;
    let destroyed = create(&t, &owner, "destroyed@example.org", home).await;
    deliver(&t, &sink).await;
    t.delete(&format!("/api/users/{deleted}")).bearer(&owner.token).send().await.expect(200);
    t.delete(&format!("/api/users/{destroyed}/destroy")).bearer(&owner.token).send().await.expect(200);
    let body = json!({"password": CHOSEN});
    t.patch(&format!("/api/users/{reset}/password")).bearer(&owner.token).json(body).send().await.expect(200);
    sink.answer(None).unwrap();
    t.advance(MINUTE);
    assert_eq!(deliver(&t, &sink).await.len(), 0);
    assert_eq!(jobs(&t).await.len(), 0);
});

async fn comes_back(engine: Engine) {
    let port = ports::spare().unwrap();
    let t = Test::with(engine, settings(port)).await;
    let owner = t.owner().await;
    let home = t.tree().await.customer;
    create(&t, &owner, "m@example.org", home).await;
    mail::run_until_idle(&t.app.events).await.unwrap();
    assert!(jobs(&t).await[0].error.is_some());
    let sink = SmtpSink::start_as(Setup { port: Some(port), ..Setup::default() }).await.unwrap();
    t.advance(MINUTE);
    last(&deliver(&t, &sink).await, 1);
}

// Proves spec: guarantees#identity 29.
mod a_mail_server_that_is_down_fails_nothing_and_gets_its_mail_later {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        comes_back(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        comes_back(Engine::Postgres).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starttls_and_an_account_are_used_and_a_wrong_password_ends_no_mail() {
    let setup = Setup { account: Some("fleet:right".to_owned()), tls: true, ..Setup::default() };
    let sink = SmtpSink::start_as(setup).await.unwrap();
    let with = |password: &str, authority: Option<Vec<u8>>| {
        let mut settings = settings(sink.port());
        let mail = settings.mail.as_mut().unwrap();
        mail.security = Security::StartTls;
        mail.credentials = Some(("fleet".to_owned(), bailiwick_platform::Secret::new(password.to_owned())));
        mail.authority = authority;
        settings
    };
    let authority = sink.authority().unwrap();
    for wrong in [with("wrong", Some(authority.clone())), with("right", None)] {
        let t = Test::with(Engine::Sqlite, wrong).await;
        let home = t.tree().await.customer;
        create(&t, &t.owner().await, "m@example.org", home).await;
        assert_eq!(deliver(&t, &sink).await.len(), 0);
        let waiting = jobs(&t).await;
        assert!(!waiting[0].is_ended && waiting[0].error.is_some(), "{waiting:?}");
        assert!(!format!("{waiting:?} {:?}", t.app.settings).contains("wrong\""));
    }
    let t = Test::with(Engine::Sqlite, with("right", Some(authority))).await;
    let home = t.tree().await.customer;
    create(&t, &t.owner().await, "m@example.org", home).await;
    let messages = deliver(&t, &sink).await;
    assert_eq!(jobs(&t).await.first().map(|job| job.error.clone()), None);
    let mail = last(&messages, 1);
    assert_eq!((mail.encrypted, mail.user.as_deref()), (true, Some("fleet")));
}
