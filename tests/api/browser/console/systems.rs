//! The pages of systems.

use super::{check_page, open_page};
use crate::Stage;
use bailiwick_testkit::seed::Seeded;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, system: &Seeded, name: &str) {
    let here = format!("/console/systems/{}", system.id);
    for tab in ["", "/changes", "/applications", "/alerts", "/backups", "/access", "/edit", "/destroy"] {
        open_page(stage, &format!("{here}{tab}"), &format!("console-system{}-{name}", tab.replace('/', "-")))
            .await;
    }
    stage.browser.goto(&format!("{}{here}/changes", stage.service.url)).await.unwrap();
    stage.browser.find(Locator::Css("a[href*='/documents/']")).await.unwrap().click().await.unwrap();
    stage.text_of("div.document").await;
    check_page(stage, &format!("console-document-{name}")).await;
    open_page(stage, "/console/systems/new", &format!("console-new-{name}")).await;
    open_page(stage, "/console/systems?search=nowhere", &format!("console-systems-none-{name}")).await;
    open_page(stage, "/console/nothing", &format!("console-nothing-{name}")).await;
}
