//! Parts of a page that stay up to date by themselves.

use super::{Kind, sign_in, stage};
use bailiwick_testkit::Engine;
use serde_json::{Value, json};

/// When the page fetched itself again, in milliseconds after its start.
const FETCHES: &str = "return performance.getEntriesByType('resource') \
     .filter(entry => entry.initiatorType === 'fetch' && entry.name === location.href).map(entry => entry.startTime)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_fetches_itself_at_most_once_a_second_however_many_alerts_there_are() {
    let (stage, _, system) = stage(Engine::Sqlite, Kind::default()).await;
    sign_in(&stage, "/console/alerts").await;
    let path = "/api/services/mimir/alertmanager/api/v2/alerts";
    let fetches = async || -> Vec<f64> {
        let found = stage.browser.execute(FETCHES, vec![]).await.unwrap();
        found.as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    };
    let mut round = 0;
    while fetches().await.len() < 4 {
        let alerts: Vec<Value> = (0..200)
            .map(|n| json!({"labels": {"alertname": format!("Flood {round} {n}"), "severity": "warning"}}))
            .collect();
        stage.test.post(path).basic(&system.key, &system.secret).json(alerts.into()).send().await.expect(200);
        round += 1;
    }
    let times = fetches().await;
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1000.0), "{times:?}");
}
