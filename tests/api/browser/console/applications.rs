//! The pages of applications.

use super::visit;
use crate::Stage;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    visit(stage, "/console/applications", &format!("console-applications-{name}")).await;
    let link =
        stage.browser.find(Locator::Css("th.name a")).await.unwrap().attr("href").await.unwrap().unwrap();
    for tab in ["", "/assign", "/edit", "/delete"] {
        let picture = format!("console-application{}-{name}", tab.replace('/', "-"));
        visit(stage, &format!("{link}{tab}"), &picture).await;
    }
    visit(stage, "/console/applications/summary", &format!("console-applications-summary-{name}")).await;
    visit(stage, "/console/applications?search=nowhere", &format!("console-applications-none-{name}")).await;
}
