//! Signing in at a Logto tenant (spec: authentication#identity-modes, authentication#exchange).

use super::*;
use crate::session::exchange;
use bailiwick_testkit::parts::logto::CLIENT;

logto_test!(a_verified_address_links_and_the_client_must_be_ours, |t, l| async move {
    let account = l.with(|tenant| tenant.add_user("OWNER@example.org", "whoever"));
    let token = l.with(|tenant| tenant.sign_in(&account, CLIENT));
    let user = exchange(&t, &token).await.expect(200).data()["user"].clone();
    assert_eq!(user["email"], "owner@example.org");
    // Both ids are the service's own (spec: conventions#ids-and-times).
    assert_eq!(user["id"], user["logto_id"]);
    // From now on the account belongs to this user, whatever its address.
    l.with(|tenant| tenant.users.get_mut(&account).unwrap()["primaryEmail"] = "other@example.org".into());
    let again = l.with(|tenant| tenant.sign_in(&account, CLIENT));
    exchange(&t, &again).await.expect(200);
    let foreign = l.with(|tenant| tenant.sign_in(&account, "wiki"));
    exchange(&t, &foreign).await.expect_message(401, "invalid access token");
    exchange(&t, "made-up").await.expect_message(401, "invalid access token");
    let nobody = l.with(|tenant| tenant.add_user("nobody@example.org", "nobody"));
    let nobody = l.with(|tenant| tenant.sign_in(&nobody, CLIENT));
    exchange(&t, &nobody).await.expect_message(401, "invalid access token");
});

async fn without_introspection(engine: Engine) {
    let logto = Logto::start().await.unwrap();
    logto.with(|tenant| tenant.introspects = false);
    let account = logto.with(|tenant| tenant.add_user("owner@example.org", "owner"));
    let token = logto.with(|tenant| tenant.sign_in(&account, CLIENT));
    let careful = service(engine, &logto).await;
    exchange(&careful, &token).await.expect_message(401, "invalid access token");
    let any = settings(&logto, |tenancy| tenancy.issuer.accept_any_client = true);
    let t = Test::with(engine, any).await;
    exchange(&t, &token).await.expect(200);
    exchange(&t, "made-up").await.expect_message(401, "invalid access token");
}
on_both!(without_introspection_userinfo_must_be_allowed, without_introspection);

async fn unlinked(engine: Engine) {
    let logto = Logto::start().await.unwrap();
    let account = logto.with(|tenant| tenant.add_user("owner@example.org", "owner"));
    let token = logto.with(|tenant| tenant.sign_in(&account, CLIENT));
    let t = Test::with(engine, settings(&logto, |tenancy| tenancy.issuer.link_by_email = false)).await;
    exchange(&t, &token).await.expect_message(401, "invalid access token");
}
on_both!(linking_by_address_can_be_turned_off, unlinked);
