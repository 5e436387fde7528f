//! The pages of organizations.

use super::{check_page, open_page};
use crate::Stage;
use fantoccini::Locator;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    open_page(stage, "/console/organizations", &format!("console-tree-closed-{name}")).await;
    for _ in 0..2 {
        let closed = Locator::Css("#tree a.toggle[aria-expanded=false]");
        stage.browser.find(closed).await.unwrap().click().await.unwrap();
        let open = Locator::Css("#tree a.toggle[aria-expanded=true]");
        stage.browser.wait().for_element(open).await.unwrap();
    }
    check_page(stage, &format!("console-tree-{name}")).await;
    for family in ["distributors", "resellers", "customers"] {
        let path = format!("/console/organizations/{family}");
        open_page(stage, &path, &format!("console-{family}-{name}")).await;
    }
    stage.browser.find(Locator::Css(".list th.name a")).await.unwrap().click().await.unwrap();
    stage.text_of(".tabs").await;
    let here = stage.browser.current_url().await.unwrap().path().to_owned();
    for tab in ["", "/users", "/systems", "/applications", "/second-factor", "/edit", "/suspend", "/destroy"]
    {
        let picture = format!("console-organization{}-{name}", tab.replace('/', "-"));
        open_page(stage, &format!("{here}{tab}"), &picture).await;
    }
    for (path, picture) in [
        ("/console/organizations/new?family=customer", "new"),
        ("/console/organizations/customers?search=nowhere", "none"),
        ("/console/organizations?search=alfa", "found"),
    ] {
        open_page(stage, path, &format!("console-organizations-{picture}-{name}")).await;
    }
    open_page(stage, "/console/imports/customers", &format!("console-import-{name}")).await;
    open_page(stage, "/console/rebranding?search=alfa", &format!("console-rebranding-{name}")).await;
    stage.browser.goto(&format!("{}{here}/rebranding", stage.service.url)).await.unwrap();
    check_page(stage, &format!("console-rebranding-off-{name}")).await;
}
