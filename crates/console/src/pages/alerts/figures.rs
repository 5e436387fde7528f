//! Figures of alerts as pictures, each with its numbers.

use super::list::{SEVERITIES, place_chips};
use crate::{
    chart::{Bar, Chart, bars},
    components::{list::Address, time::rough},
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_alerts::manage::{self, Lasted};
use bailiwick_app::App;
use bailiwick_domain::Ts;
use bailiwick_web::{Params, alerts};
use http::Uri;
use serde_json::json;
use std::time::Duration;

const HERE: &str = "/console/alerts/figures";
/// Days to look back.
const PERIODS: [&str; 4] = ["7", "30", "180", "365"];
/// Texts of the classes of times.
const CLASSES: [&str; 6] = ["lasted_5m", "lasted_1h", "lasted_4h", "lasted_1d", "lasted_7d", "lasted_more"];

/// `GET /console/alerts/figures`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let requested = params.one("period").unwrap_or_default();
    let period = PERIODS.into_iter().find(|period| *period == requested).unwrap_or("30");
    let (named, caller, language) = (alerts::named(&params), &session.caller, session.layout.language);
    let live = manage::totals(&app.alerts, caller, &named).await?.live;
    let trend = manage::trend(&app.alerts, caller, &named, Some(period)).await?;
    let figures = manage::figures(&app.alerts, caller, &named, Some(period)).await?;
    let here = Address::of(HERE, uri.query());
    let list = here.with("period", None).at("/console/alerts");
    let text = |key: &str| texts::find(language, key).unwrap_or(key).to_owned();
    let active =
        SEVERITIES.into_iter().zip([live.critical, live.warning, live.info]).map(|(word, number)| {
            let mut bar = Bar::of(text(&format!("severity_{word}")), number).coloured(word);
            bar.href = Some(list.with("severity", Some(word)).text());
            bar
        });
    let rows = |word: &'static str| {
        figures.lasted.iter().filter(move |l| l.severity.as_deref().unwrap_or("info") == word)
    };
    let resolved = SEVERITIES.into_iter().map(|word| {
        let number = rows(word).map(Lasted::total).sum();
        Bar::of(text(&format!("severity_{word}")), number).coloured(word)
    });
    let organizations = figures.organizations.iter().map(|(id, name, number)| {
        let mut bar = Bar::of(name.clone(), *number);
        bar.href = Some(format!("/console/alerts/history?organization_id={id}"));
        bar
    });
    let lasted = CLASSES.iter().enumerate().map(|(at, key)| {
        let number = figures.lasted.iter().filter_map(|lasted| lasted.classes.get(at)).sum();
        Bar::of(text(key), number)
    });
    let mean = |word: &'static str| {
        let (number, seconds) =
            rows(word).fold((0, 0.0), |(n, seconds), lasted| (n + lasted.total(), seconds + lasted.seconds));
        (number > 0)
            .then(|| json!({"severity": word, "time": mean_time(session.layout.language, number, seconds)}))
    };
    let day = |days: i64| Ts::from_secs(days * 86_400).rfc3339(0).chars().take(10).collect::<String>();
    let points: Vec<(String, u64)> = trend.points.iter().map(|(days, n)| (day(*days), *n)).collect();
    let periods = PERIODS.map(|days| json!({"days": days, "href": here.with("period", Some(days)).text()}));
    let values = json!({
        "tab": "figures",
        "periods": periods,
        "period": period,
        "chips": place_chips(&app, &session, &here).await?,
        "bare": HERE,
        "trend": Chart::of(points),
        "active": bars(active.collect()),
        "resolved": bars(resolved.collect()),
        "organizations": bars(organizations.collect()),
        "lasted": bars(lasted.collect()),
        "means": SEVERITIES.into_iter().filter_map(mean).collect::<Vec<_>>(),
    });
    Ok(page::show(&session.layout, "alerts/figures.html", values))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rough time needs no more"
)]
fn mean_time(language: bailiwick_web::Language, number: u64, seconds: f64) -> String {
    rough(language, Duration::from_secs((seconds / number as f64).max(0.0) as u64))
}
