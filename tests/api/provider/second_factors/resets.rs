//! Help for someone who has lost their second factors (spec: users#second-factors), with mail.

use super::*;
use crate::mail::{deliver, mail_test, start};
use bailiwick_testkit::{Engine, parts::smtp::Received, parts::smtp::SmtpSink};

fn subjects(messages: &[Received]) -> Vec<&str> {
    messages.iter().map(Received::subject).collect()
}

mail_test!(an_administrator_in_scope_and_rank_resets_them, |t, sink| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let person = t.user(tree.customer, &["admin"]).await;
    set_password(&t, person.id, PASSWORD, None).await;
    add_totp(&t, &person).await;
    assert_eq!(subjects(&deliver(&t, &sink).await), ["A second factor was added to your account"]);
    let path = format!("/api/users/{}/second-factors", person.id);
    let reset = |actor: &Persona| t.delete(&path).bearer(&actor.token).send();
    // Out of scope, out of rank, without the permission, oneself.
    let foreign = t.user(tree.other_distributor, &["super"]).await;
    reset(&foreign).await.expect_message(404, "user not found");
    reset(&t.user(tree.customer, &["reader"]).await).await.expect(403);
    reset(&person).await.expect(403);
    let actor = t.user(tree.distributor, &["super"]).await;
    reset(&actor).await.expect(200);
    let messages = deliver(&t, &sink).await;
    assert_eq!(subjects(&messages[1..]), ["Your second factors were removed"]);
    // The sessions are over, and the password is enough.
    t.get("/api/me").bearer(&person.token).send().await.expect(401);
    let email = email_of(&t, person.id).await;
    let address = Browser::new(&t).sign_in(&email, PASSWORD, &[]).await;
    assert!(query(&address).contains_key("code"), "{address}");
    let rows =
        bailiwick_store::audit::page(&t.app.platform.db, &Default::default(), None, 100).await.unwrap();
    let row = rows.iter().find(|row| row.action == "user.reset_second_factors").unwrap();
    assert_eq!((row.object_id, row.actor_user_id), (Some(person.id.0), Some(actor.id)));
    assert_eq!(overview(&t, &t.session(person.id).await).await["totp"], Value::Null);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
});

mail_test!(the_owner_gets_a_mail_when_a_recovery_code_is_used, |t, sink| async move {
    let owner = owner(&t).await;
    // Mails that are sent in one round have no order.
    assert_eq!(subjects(&deliver(&t, &sink).await), ["A second factor was added to your account"]);
    let browser = Browser::new(&t);
    let (page, shown) = after_password(&browser).await;
    send_code(&browser, &page, &shown, &owner.recovery_codes[0]).await.expect(303);
    let messages = deliver(&t, &sink).await;
    assert_eq!(subjects(&messages[1..]), ["A recovery code was used to sign in"]);
});
