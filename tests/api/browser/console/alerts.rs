//! The pages of alerts.

use super::{check_page, open_page};
use crate::Stage;
use bailiwick_testkit::seed::Seeded;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, system: &Seeded, name: &str) {
    open_page(stage, "/console/alerts", &format!("console-alerts-{name}")).await;
    for group in ["organization", "system", "name"] {
        open_page(
            stage,
            &format!("/console/alerts?group={group}"),
            &format!("console-alerts-{group}-{name}"),
        )
        .await;
    }
    open_page(stage, "/console/alerts?search=nowhere", &format!("console-alerts-none-{name}")).await;
    open_page(stage, "/console/alerts/history", &format!("console-alerts-history-{name}")).await;
    open_page(stage, "/console/alerts/figures", &format!("console-alerts-figures-{name}")).await;
    open_page(stage, "/console/alerts/silences", &format!("console-silences-none-{name}")).await;
    stage.browser.goto(&format!("{}/console/systems/{}/alerts", stage.service.url, system.id)).await.unwrap();
    stage.browser.find(Locator::Css("a[href*='/console/alerts/']")).await.unwrap().click().await.unwrap();
    stage.text_of("#says").await;
    check_page(stage, &format!("console-alert-{name}")).await;
    stage.press_on("a[href$='/silence']").await;
    stage.text_of("form.form").await;
    check_page(stage, &format!("console-silence-{name}")).await;
    stage.press_on("form.form button.main").await;
    stage.text_of("#hits").await;
    check_page(stage, &format!("console-silence-preview-{name}")).await;
    stage.press_on("form[action$='/silence'] button.main").await;
    stage.text_of(".quiet-band").await;
    check_page(stage, &format!("console-alert-silenced-{name}")).await;
    open_page(stage, "/console/alerts/silences", &format!("console-silences-{name}")).await;
    stage.browser.find(Locator::Css(".list a")).await.unwrap().click().await.unwrap();
    stage.text_of("#change").await;
    check_page(stage, &format!("console-silence-one-{name}")).await;
}
