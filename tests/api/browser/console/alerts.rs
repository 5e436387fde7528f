//! The pages of alerts.

use super::{look, visit};
use crate::Stage;
use bailiwick_testkit::seed::Seeded;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, system: &Seeded, name: &str) {
    visit(stage, "/console/alerts", &format!("console-alerts-{name}")).await;
    for by in ["organization", "system", "name"] {
        visit(stage, &format!("/console/alerts?group={by}"), &format!("console-alerts-{by}-{name}")).await;
    }
    visit(stage, "/console/alerts?search=nowhere", &format!("console-alerts-none-{name}")).await;
    visit(stage, "/console/alerts/history", &format!("console-alerts-history-{name}")).await;
    visit(stage, "/console/alerts/figures", &format!("console-alerts-figures-{name}")).await;
    visit(stage, "/console/alerts/silences", &format!("console-silences-none-{name}")).await;
    stage.browser.goto(&format!("{}/console/systems/{}/alerts", stage.service.url, system.id)).await.unwrap();
    stage.browser.find(Locator::Css("a[href*='/console/alerts/']")).await.unwrap().click().await.unwrap();
    stage.text_of("#says").await;
    look(stage, &format!("console-alert-{name}")).await;
    stage.press_on("a[href$='/silence']").await;
    stage.text_of("form.form").await;
    look(stage, &format!("console-silence-{name}")).await;
    stage.press_on("form.form button.main").await;
    stage.text_of("#hits").await;
    look(stage, &format!("console-silence-preview-{name}")).await;
    stage.press_on("form[action$='/silence'] button.main").await;
    stage.text_of(".quiet-band").await;
    look(stage, &format!("console-alert-silenced-{name}")).await;
    visit(stage, "/console/alerts/silences", &format!("console-silences-{name}")).await;
    stage.browser.find(Locator::Css(".list a")).await.unwrap().click().await.unwrap();
    stage.text_of("#change").await;
    look(stage, &format!("console-silence-one-{name}")).await;
}
