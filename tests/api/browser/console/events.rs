//! The time line, webhooks, the audit record and search.

use super::{look, visit};
use crate::Stage;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    bailiwick_events::number_all(&stage.test.app.events).await.unwrap();
    visit(stage, "/console/timeline", &format!("console-timeline-{name}")).await;
    visit(stage, "/console/timeline?types=user.*", &format!("console-timeline-none-{name}")).await;
    visit(stage, "/console/timeline/audit", &format!("console-audit-{name}")).await;
    stage.browser.find(Locator::Css(".audit summary")).await.unwrap().click().await.unwrap();
    look(stage, &format!("console-audit-open-{name}")).await;
    visit(stage, "/console/timeline/webhooks", &format!("console-webhooks-none-{name}")).await;
    visit(stage, "/console/timeline/webhooks/new", &format!("console-webhook-new-{name}")).await;
    stage.type_into("name", "Ticket system of the service desk").await;
    stage.type_into("url", "https://192.0.2.7/hooks/bailiwick").await;
    let new = "form[action='/console/timeline/webhooks/new'] .main";
    stage.press_on(new).await;
    stage.text_of(".wrong").await;
    look(stage, &format!("console-webhook-wrong-{name}")).await;
    // Nothing of this kind happens, so nothing is sent.
    stage.type_into("url", "https://8.8.8.8/hooks/bailiwick").await;
    let group = "input[value='impersonation.*']";
    stage.browser.find(Locator::Css(group)).await.unwrap().click().await.unwrap();
    stage.press_on(new).await;
    stage.text_of(".copy").await;
    look(stage, &format!("console-webhook-made-{name}")).await;
    visit(stage, "/console/timeline/webhooks", &format!("console-webhooks-{name}")).await;
    stage.browser.find(Locator::Css("th.name a")).await.unwrap().click().await.unwrap();
    stage.text_of(".facts").await;
    look(stage, &format!("console-webhook-{name}")).await;
    visit(stage, "/console/search", &format!("console-search-{name}")).await;
    visit(stage, "/console/search?q=system", &format!("console-search-found-{name}")).await;
    visit(stage, "/console/search?q=nowhere", &format!("console-search-none-{name}")).await;
}
