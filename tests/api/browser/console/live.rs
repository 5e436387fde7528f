//! Parts of a page that stay up to date by themselves.

use super::{Kind, sign_in, stage};
use bailiwick_testkit::{Engine, PATIENCE, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// When the page fetched itself again, in milliseconds after its start.
const FETCHES: &str = "return performance.getEntriesByType('resource') \
     .filter(entry => entry.initiatorType === 'fetch' && entry.name === location.href).map(entry => entry.startTime)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_fetches_itself_at_most_once_a_second_however_many_alerts_there_are() {
    let (stage, _, system) = stage(Engine::Sqlite, Kind::default()).await;
    sign_in(&stage, "/console/alerts").await;
    stage.text_of("#rows").await;
    let shows_flood = async || {
        let shown = stage.browser.execute("return document.querySelector('#rows').textContent", vec![]).await;
        shown.unwrap().as_str().unwrap().contains("Flood")
    };
    assert!(!shows_flood().await);
    let fetches = async || -> Vec<f64> {
        let found = stage.browser.execute(FETCHES, vec![]).await.unwrap();
        found.as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    };
    // A hundred alerts begin and end, again and again.
    let flood = async {
        for round in 0.. {
            stage.test.advance(Duration::from_secs(1));
            let ends_at =
                stage.test.app.platform.now().plus(Duration::from_secs(round % 2 * 3600)).rfc3339(0);
            let alert = |n: u32| json!({"labels": {"alertname": format!("Flood {n}")}, "endsAt": ends_at});
            let alerts: Vec<Value> = (0..100).map(alert).collect();
            let path = "/api/services/mimir/alertmanager/api/v2/alerts";
            stage
                .test
                .post(path)
                .basic(&system.key, &system.secret)
                .json(alerts.into())
                .send()
                .await
                .expect(200);
            if round % 2 == 1 && fetches().await.len() >= 4 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, flood).await.expect("the page fetches itself");
    let times = fetches().await;
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1000.0), "{times:?}");
    eventually("the page shows the alerts", shows_flood).await;
}
