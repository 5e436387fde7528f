//! Systems, their inventory and applications, as those who look after them see them.

use super::{tree::Places, *};

async fn inventory(b: &mut Book<'_>, owner: &Persona, system: &Seeded) {
    let of = format!("/systems/{}/inventory", system.id);
    let latest = b.ask(owner, "getLatestInventory", &format!("{of}/latest")).await;
    b.ask(owner, "listInventory", &of).await;
    b.ask(owner, "getInventoryChanges", &format!("{of}/changes")).await;
    b.ask(owner, "getLatestInventoryChanges", &format!("{of}/changes/latest")).await;
    b.ask(owner, "listInventoryDiffs", &format!("{of}/diffs?severity=high")).await;
    b.ask(owner, "getLatestInventoryDiffs", &format!("{of}/diffs/latest")).await;
    b.ask(owner, "getInventoryTimeline", &format!("{of}/timeline")).await;
    b.ask(owner, "getInventory", &format!("{of}/{}", latest["id"])).await;
}

async fn applications(b: &mut Book<'_>, owner: &Persona, places: &Places) {
    let list = b.ask(owner, "listApplications", "/applications?cursor=&page_size=20&type=mail").await;
    let at = format!("/applications/{}", text(&list["applications"][0], "id"));
    b.ask(owner, "getApplicationsTotals", "/applications/totals").await;
    b.ask(owner, "getApplicationsSummary", "/applications/summary").await;
    b.ask(owner, "getApplicationsTrend", "/applications/trend?period=7").await;
    b.ask(owner, "getApplicationFilters", "/filters/applications").await;
    let body = json!({"organization_id": places.customer});
    b.say(owner, "assignApplication", &format!("{at}/assign"), body).await;
    b.ask(owner, "getApplication", &at).await;
    b.say(owner, "updateApplication", &at, json!({"notes": "Moves in May"})).await;
    b.ask(owner, "unassignApplication", &format!("{at}/unassign")).await;
    b.ask(owner, "deleteApplication", &at).await;
}

pub async fn walk(b: &mut Book<'_>, owner: &Persona, places: &Places, system: &Seeded) {
    let at = format!("/systems/{}", system.id);
    b.ask(owner, "listSystems", "/systems?page=1&page_size=20&status=active").await;
    b.ask(owner, "getSystemsTotals", "/systems/totals").await;
    b.ask(owner, "getSystemsTrend", "/systems/trend?period=7").await;
    b.ask(owner, "getSystemFilters", "/filters/systems?q=al&limit=20").await;
    b.ask(owner, "exportSystems", "/systems/export?format=csv").await;
    b.ask(owner, "getSystem", &at).await;
    inventory(b, owner, system).await;
    applications(b, owner, places).await;
    b.say(owner, "updateSystem", &at, json!({"name": "Milan", "notes": "Third floor"})).await;
    // Its name leads nowhere, so the check reaches no appliance.
    let body = json!({"name": "Rome firewall", "organization_id": places.customer});
    let made = b.test.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let at = format!("/systems/{}", text(&made, "id"));
    b.ask(owner, "checkSystemReachability", &format!("{at}/reachability")).await;
    b.say(owner, "regenerateSystemSecret", &format!("{at}/regenerate-secret"), json!({"force": true})).await;
    b.ask(owner, "suspendSystem", &format!("{at}/suspend")).await;
    b.ask(owner, "reactivateSystem", &format!("{at}/reactivate")).await;
    b.ask(owner, "deleteSystem", &at).await;
    b.ask(owner, "restoreSystem", &format!("{at}/restore")).await;
    b.ask(owner, "destroySystem", &format!("{at}/destroy")).await;
}
