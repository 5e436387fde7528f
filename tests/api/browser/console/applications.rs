//! The pages of applications.

use super::open_page;
use crate::Stage;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    open_page(stage, "/console/applications", &format!("console-applications-{name}")).await;
    let link =
        stage.browser.find(Locator::Css("th.name a")).await.unwrap().attr("href").await.unwrap().unwrap();
    for tab in ["", "/assign", "/edit", "/delete"] {
        let picture = format!("console-application{}-{name}", tab.replace('/', "-"));
        open_page(stage, &format!("{link}{tab}"), &picture).await;
    }
    open_page(stage, "/console/applications/summary", &format!("console-applications-summary-{name}")).await;
    open_page(stage, "/console/applications?search=nowhere", &format!("console-applications-none-{name}"))
        .await;
}
