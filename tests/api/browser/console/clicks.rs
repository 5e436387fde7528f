//! A page takes clicks as soon as it is there, and forms keep what was written into them.

use super::{Kind, sign_in, stage};
use bailiwick_domain::OrgType;
use bailiwick_testkit::{Engine, eventually};
use fantoccini::{
    Locator,
    actions::{InputSource, MouseActions, PointerAction},
};
use serde_json::json;
use std::time::Duration;

/// Clicks on an element this long after the driver has found it, without waiting for anything.
async fn click_after(stage: &crate::Stage, css: &str, pause: Duration) {
    let element = stage.browser.find(Locator::Css(css)).await.unwrap();
    let mouse = MouseActions::new("mouse".to_owned())
        .then(PointerAction::MoveToElement { element, duration: None, x: 0., y: 0. })
        .then(PointerAction::Pause { duration: pause })
        .then(PointerAction::Down { button: fantoccini::actions::MOUSE_BUTTON_LEFT })
        .then(PointerAction::Up { button: fantoccini::actions::MOUSE_BUTTON_LEFT });
    stage.browser.perform_actions(mouse).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_counts_as_soon_as_the_page_is_there() {
    let (stage, ..) = stage(Engine::Sqlite, Kind::default()).await;
    sign_in(&stage, "/console/").await;
    stage.text_of(".counters").await;
    let mut from = "/console/";
    for pause in [0, 50, 100] {
        for to in ["/console/users", "/console/systems", "/console/alerts", "/console/applications"] {
            // A link of the page that has just come by a click.
            click_after(&stage, &format!("nav a[href='{to}']"), Duration::from_millis(pause)).await;
            let arrives = async || stage.browser.current_url().await.unwrap().path() == to;
            eventually(&format!("{to} after {from}, {pause} ms"), arrives).await;
            from = to;
        }
    }
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_keeps_the_form_and_goes_on_in_the_choice() {
    for without_javascript in [false, true] {
        let (stage, tree, _) = stage(Engine::Sqlite, Kind { without_javascript, ..Kind::default() }).await;
        for number in 0..50 {
            let name = format!("Company {number:02}");
            stage.test.organization(tree.reseller, OrgType::Customer, &name).await;
        }
        sign_in(&stage, "/console/users/new").await;
        stage.text_of("form.form").await;
        stage.type_into("name", "Anna Neri").await;
        stage.type_into("find", "Beta Customer").await;
        stage.press_on("button[name=search]").await;
        let name = stage.browser.find(Locator::Id("name")).await.unwrap();
        assert_eq!(name.prop("value").await.unwrap().as_deref(), Some("Anna Neri"));
        let choice = stage.browser.active_element().await.unwrap();
        assert_eq!(choice.attr("id").await.unwrap().as_deref(), Some("organization_id"));
        assert_eq!(choice.prop("value").await.unwrap(), Some(tree.other_customer.to_string()));
        // Enter in the search field searches too, and creates no user.
        stage.type_into("find", "Company 07\u{e007}").await;
        let shows = async || stage.browser.source().await.is_ok_and(|page| page.contains("Company 07"));
        eventually("the search by Enter", shows).await;
        assert!(stage.browser.current_url().await.unwrap().path().ends_with("/users/new"));
        stage.browser.clone().close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_rows_keep_the_place_and_long_filters_are_searched() {
    let (stage, _, system) = stage(Engine::Sqlite, Kind::default()).await;
    sign_in(&stage, "/console/notifications/edit").await;
    stage.text_of("form.layer").await;
    stage.press_on("button[name=more][value=pagerduty_recipients]").await;
    let is_in_row = async || {
        let Ok(field) = stage.browser.active_element().await else { return false };
        field.attr("id").await.is_ok_and(|id| id.is_some_and(|id| id.starts_with("pagerduty_recipients.0.")))
    };
    eventually("the new row has the focus", is_in_row).await;
    let is_in_view = "const { top, bottom } = document.activeElement.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight";
    assert_eq!(stage.browser.execute(is_in_view, vec![]).await.unwrap(), json!(true));

    let module = |row: u32| {
        json!({"id": format!("mail{row}"), "module": "mail", "name": "mail", "ui_name": "",
            "version": format!("3.{row}"),
            "certification_level": 4, "node": "1", "source": "ghcr.io/x"})
    };
    let document = json!({"installation": "nethserver", "facts": {"cluster": {"fqdn": "c.example"}, "nodes": {},
        "modules": (0..20).map(module).collect::<Vec<_>>()}});
    let sent = stage.test.post("/systems/inventory").basic(&system.key, &system.secret).json(document);
    sent.send().await.expect(202);
    bailiwick_fleet::inventory::run_until_idle(&stage.test.app.fleet).await.unwrap();
    stage.browser.goto(&format!("{}/console/applications", stage.service.url)).await.unwrap();
    let panel = "details.choose:has(input[name=version])";
    stage.browser.find(Locator::Css(&format!("{panel} summary"))).await.unwrap().click().await.unwrap();
    let search = stage.browser.find(Locator::Css(&format!("{panel} .narrow"))).await.unwrap();
    search.send_keys("3.19\u{e007}").await.unwrap();
    let shown = format!(
        "return [...document.querySelectorAll('{panel} label')].filter(l => l.getClientRects().length).map(l => l.textContent.trim().split(' ').pop())"
    );
    assert_eq!(stage.browser.execute(&shown, vec![]).await.unwrap(), json!(["3.19"]));
    stage.browser.clone().close().await.unwrap();
}
