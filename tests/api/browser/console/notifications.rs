//! The pages of notifications.

use super::{check_page, open_page};
use crate::Stage;

/// Goes through them; `name`: of this kind of browser, in the names of pictures.
pub async fn walk(stage: &Stage, name: &str) {
    open_page(stage, "/console/notifications", &format!("console-notifications-none-{name}")).await;
    stage.press_on("a[href^='/console/notifications/edit']").await;
    stage.text_of("form.layer").await;
    check_page(stage, &format!("console-notifications-edit-{name}")).await;
    stage.type_into("email_recipients.0.address", "noc@example.org").await;
    stage
        .type_into("email_recipients.1.address", "an-operator-with-a-long-name@operations.example.org")
        .await;
    stage.press_on("form.layer button.main").await;
    stage.text_of("h1").await;
    check_page(stage, &format!("console-notifications-saved-{name}")).await;
    open_page(stage, "/console/notifications", &format!("console-notifications-{name}")).await;
    open_page(stage, "/console/notifications?find=alfa", &format!("console-notifications-find-{name}")).await;
    open_page(stage, "/console/notifications/who?severity=critical", &format!("console-who-{name}")).await;
    stage.browser.goto(&format!("{}/console/notifications", stage.service.url)).await.unwrap();
    stage.press_on("a[href^='/console/notifications/remove']").await;
    stage.text_of("h1").await;
    check_page(stage, &format!("console-notifications-remove-{name}")).await;
}
