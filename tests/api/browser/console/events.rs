//! The time line, webhooks, the audit record and search.

use super::{check_page, open_page};
use crate::Stage;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    bailiwick_events::number_all(&stage.test.app.events).await.unwrap();
    open_page(stage, "/console/timeline", &format!("console-timeline-{name}")).await;
    open_page(stage, "/console/timeline?types=user.*", &format!("console-timeline-none-{name}")).await;
    open_page(stage, "/console/timeline/audit", &format!("console-audit-{name}")).await;
    stage.browser.find(Locator::Css(".audit summary")).await.unwrap().click().await.unwrap();
    check_page(stage, &format!("console-audit-open-{name}")).await;
    open_page(stage, "/console/timeline/webhooks", &format!("console-webhooks-none-{name}")).await;
    open_page(stage, "/console/timeline/webhooks/new", &format!("console-webhook-new-{name}")).await;
    stage.type_into("name", "Ticket system of the service desk").await;
    stage.type_into("url", "https://192.0.2.7/hooks/bailiwick").await;
    let new = "form[action='/console/timeline/webhooks/new'] .main";
    stage.press_on(new).await;
    stage.text_of(".wrong").await;
    check_page(stage, &format!("console-webhook-wrong-{name}")).await;
    // Nothing of this kind happens, so nothing is sent.
    stage.type_into("url", "https://8.8.8.8/hooks/bailiwick").await;
    let group = "input[value='impersonation.*']";
    stage.browser.find(Locator::Css(group)).await.unwrap().click().await.unwrap();
    stage.press_on(new).await;
    stage.text_of(".copy").await;
    check_page(stage, &format!("console-webhook-made-{name}")).await;
    open_page(stage, "/console/timeline/webhooks", &format!("console-webhooks-{name}")).await;
    stage.browser.find(Locator::Css("th.name a")).await.unwrap().click().await.unwrap();
    stage.text_of(".facts").await;
    check_page(stage, &format!("console-webhook-{name}")).await;
    open_page(stage, "/console/search", &format!("console-search-{name}")).await;
    open_page(stage, "/console/search?q=system", &format!("console-search-found-{name}")).await;
    open_page(stage, "/console/search?q=nowhere", &format!("console-search-none-{name}")).await;
}
