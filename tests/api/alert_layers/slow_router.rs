//! Uploads of configurations to a router that takes its time.

use bailiwick_alerts::config;
use bailiwick_settings::{RemoteRouter, Router, RouterKind};
use bailiwick_store::{alert_tenants, sql::Q};
use bailiwick_testkit::{
    Test, api_test, eventually,
    parts::recorder::{Answer, Recorder},
};
use std::time::Duration;

// The lease of an upload follows `write_timeout`. With a shorter one, another process would begin the same upload.
api_test!(an_upload_that_may_take_minutes_is_not_begun_again, |t| async move {
    let router = Recorder::start(|_| Answer::status(201).held()).await.unwrap();
    let mut settings = (*t.app.settings).clone();
    settings.alerting.limits.write_timeout = Duration::from_secs(120);
    settings.alerting.router = Router::Remote(RemoteRouter {
        url: router.url(),
        prefix: "/alertmanager".to_owned(),
        kind: RouterKind::Mimir,
        is_provisioned: true,
    });
    let t = Test::with(t.engine, settings).await;
    let tree = t.tree().await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    alert_tenants::make(&mut tx, tree.customer, t.app.platform.now()).await.unwrap();
    tx.commit().await.unwrap();
    let alerts = t.app.alerts.clone();
    let first = tokio::spawn(async move { config::work_off(&alerts).await.unwrap() });
    router.wait_for(1).await.unwrap();

    t.advance(Duration::from_secs(100));
    let second = tokio::time::timeout(Duration::from_secs(20), config::work_off(&t.app.alerts)).await;
    assert_eq!(second.expect("nothing to wait for").unwrap(), 0);
    assert_eq!(router.requests().len(), 1);
    router.release();
    first.await.unwrap();
    let queued = "SELECT CAST(COUNT(*) AS BIGINT) FROM alert_tenants WHERE next_attempt_at IS NOT NULL";
    eventually("the upload has ended", async || Q::new(queued).count(&t.app.platform.db).await.unwrap() == 0)
        .await;
});
