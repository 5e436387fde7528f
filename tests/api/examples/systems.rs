//! Systems, their inventory and applications, as those who look after them see them.

use super::{tree::Places, *};

async fn inventory(b: &mut Book<'_>, owner: &Persona, system: &Seeded) {
    let path = format!("/systems/{}/inventory", system.id);
    let latest = b.ask(owner, "getLatestInventory", &format!("{path}/latest")).await;
    b.ask(owner, "listInventory", &path).await;
    b.ask(owner, "getInventoryChanges", &format!("{path}/changes")).await;
    b.ask(owner, "getLatestInventoryChanges", &format!("{path}/changes/latest")).await;
    b.ask(owner, "listInventoryDiffs", &format!("{path}/diffs?severity=high")).await;
    b.ask(owner, "getLatestInventoryDiffs", &format!("{path}/diffs/latest")).await;
    b.ask(owner, "getInventoryTimeline", &format!("{path}/timeline")).await;
    b.ask(owner, "getInventory", &format!("{path}/{}", latest["id"])).await;
}

async fn applications(b: &mut Book<'_>, owner: &Persona, places: &Places) {
    let list = b.ask(owner, "listApplications", "/applications?cursor=&page_size=20&type=mail").await;
    let path = format!("/applications/{}", text(&list["applications"][0], "id"));
    b.ask(owner, "getApplicationsTotals", "/applications/totals").await;
    b.ask(owner, "getApplicationsSummary", "/applications/summary").await;
    b.ask(owner, "getApplicationsTrend", "/applications/trend?period=7").await;
    b.ask(owner, "getApplicationFilters", "/filters/applications").await;
    let body = json!({"organization_id": places.customer});
    b.call(owner, "assignApplication", &format!("{path}/assign"), body).await;
    b.ask(owner, "getApplication", &path).await;
    b.call(owner, "updateApplication", &path, json!({"notes": "Moves in May"})).await;
    b.ask(owner, "unassignApplication", &format!("{path}/unassign")).await;
    b.ask(owner, "deleteApplication", &path).await;
}

pub async fn walk(b: &mut Book<'_>, owner: &Persona, places: &Places, system: &Seeded) {
    let path = format!("/systems/{}", system.id);
    b.ask(owner, "listSystems", "/systems?page=1&page_size=20&status=active").await;
    b.ask(owner, "getSystemsTotals", "/systems/totals").await;
    b.ask(owner, "getSystemsTrend", "/systems/trend?period=7").await;
    b.ask(owner, "getSystemFilters", "/filters/systems?q=al&limit=20").await;
    b.ask(owner, "exportSystems", "/systems/export?format=csv").await;
    b.ask(owner, "getSystem", &path).await;
    inventory(b, owner, system).await;
    applications(b, owner, places).await;
    b.call(owner, "updateSystem", &path, json!({"name": "Milan", "notes": "Third floor"})).await;
    // Its name leads nowhere, so the check reaches no appliance.
    let body = json!({"name": "Rome firewall", "organization_id": places.customer});
    let made = b.test.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let path = format!("/systems/{}", text(&made, "id"));
    b.ask(owner, "checkSystemReachability", &format!("{path}/reachability")).await;
    b.call(owner, "regenerateSystemSecret", &format!("{path}/regenerate-secret"), json!({"force": true}))
        .await;
    b.ask(owner, "suspendSystem", &format!("{path}/suspend")).await;
    b.ask(owner, "reactivateSystem", &format!("{path}/reactivate")).await;
    b.ask(owner, "deleteSystem", &path).await;
    b.ask(owner, "restoreSystem", &format!("{path}/restore")).await;
    b.ask(owner, "destroySystem", &format!("{path}/destroy")).await;
}
