"""Puts one of everything into a service that has just been started, through its own API, and writes down the ids."""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE, TOKEN, PASSWORD, REPOSITORY = (os.environ["SCHEMA_" + n] for n in ("BASE", "TOKEN", "PASSWORD", "REPOSITORY"))


def call(method, path, body=None, auth=f"Bearer {TOKEN}", content_type="application/json"):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data=data, method=method)
    request.add_header("Content-Type", content_type)
    if auth:
        request.add_header("Authorization", auth)
    try:
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
    answer = json.loads(text) if text else None
    return answer["data"] if isinstance(answer, dict) and "data" in answer else answer


def system(name, organization):
    made = call("POST", "/systems", {"name": name, "organization_id": organization})
    call("POST", "/systems/register", {"system_secret": made["system_secret"]}, auth=None)
    pair = base64.b64encode(f"{made['system_key']}:{made['system_secret']}".encode()).decode()
    auth = f"Basic {pair}"
    call("POST", "/systems/heartbeat", auth=auth)
    path = f"{REPOSITORY}/crates/inventory/tests/data/inventory-ns8.json"
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for used in (1, 2):
        document["facts"]["nodes"]["1"]["memory"]["system"]["used_bytes"] += used
        document["facts"]["modules"][0]["version"] = f"9.{used}.0"
        call("POST", "/systems/inventory", document, auth=auth)
    backup = call("POST", "/systems/backups", b"backup of " + name.encode(), auth, "application/octet-stream")
    for alert in ("DiskSpaceLow", "NodeDown"):
        labels = {"alertname": alert, "severity": "warning", "service": "disk"}
        call("POST", "/services/mimir/alertmanager/api/v2/alerts", [{"labels": labels}], auth)
    return made, backup


def main():
    keeper = call("POST", "/customers", {"name": "Kept", "custom_data": {"vat": "IT00000000001"}})
    kept, _ = system("kept", keeper["id"])
    distributor = call("POST", "/distributors", {"name": "Alfa", "custom_data": {"vat": "IT00000000002"}})
    customer = call("POST", "/customers", {"name": "Beta", "custom_data": {"vat": "IT00000000003"}})
    made = [system(f"system {n}", customer["id"]) for n in range(6)]
    alerts = call("GET", f"/alerts?organization_id={customer['id']}")["alerts"]
    for alert in alerts[:4]:
        call("POST", f"/alerts/silences?organization_id={customer['id']}", {"fingerprint": alert["fingerprint"], "comment": "looking"})
    silences = call("GET", f"/alerts/silences?organization_id={customer['id']}")["silences"]
    subscription = call(
        "POST", "/events/subscriptions", {"name": "one", "url": "https://127.0.0.1:9/one", "types": ["*"]}
    )
    keys = [call("POST", "/me/api-keys", {"name": f"k{n}", "mode": "read", "password": PASSWORD}) for n in range(3)]
    me = call("GET", "/me")
    products = call("GET", "/rebranding/products")
    call("PATCH", f"/rebranding/{distributor['id']}/enable")
    families = ("distributors", "resellers", "customers", "users", "systems", "applications")
    rows = {name: call("GET", f"/{name}?page_size=100")[name] for name in families}
    roles = [role["id"] for role in call("GET", "/roles")["roles"]]
    ids = {name: [row["id"] for row in of] for name, of in rows.items()}
    organizations = ids["distributors"] + ids["resellers"] + ids["customers"]
    inventories = []
    deadline = time.monotonic() + 60
    while len(inventories) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        inventories = call("GET", f"/systems/{made[0][0]['id']}/inventory")["records"]
    world = {
        "kept": [keeper["id"], kept["id"], me["id"], me["organization_id"]],
        "system": {"key": kept["system_key"], "secret": kept["system_secret"]},
        "pools": {
            **ids,
            "api-keys": [key["id"] for key in keys],
            "subscriptions": [subscription["subscription"]["id"]],
            "silences": [s["id"] for s in silences],
            "silence_id": [s["id"] for s in silences],
            "fingerprint": [a["fingerprint"] for a in alerts],
            "backup_id": [b["id"] for _, b in made],
            "inventory_id": [str(r["id"]) for r in inventories],
            "org_id": organizations,
            "product_id": [p["id"] for p in products["products"]],
            "asset": ["logo_light_rect", "favicon", "background_image"],
            "body.organization_id": organizations,
            "body.created_by_organization_id": ids["distributors"] + ids["resellers"],
            "body.user_role_ids": roles,
            "body.user_id": ids["users"],
            "body.system_id": ids["systems"],
            "body.fingerprint": [a["fingerprint"] for a in alerts],
            "body.custom_data": [{"vat": f"IT{n:011}"} for n in range(1000, 3000)],
            "body.email": [f"somebody{n}@schema.example" for n in range(2000)],
            "body.password": ["Correct-Horse-Battery-9"],
            "body.mode": ["read", "write"],
            "body.url": ["https://127.0.0.1:9/two"],
            "body.types": ["system.*", "*"],
            "body.system_key": [row["system_key"] for row in rows["systems"] if row.get("system_key")],
            "body.status": ["enabled", "active", "inactive", "deleted", "suspended", "firing", "resolved", "assigned"],
            "body.sort_by": ["name", "created_at", "status", "severity", "alertname", "version", "organization"],
            "body.sort_direction": ["asc", "desc"],
            "body.format": ["csv", "pdf"],
            "body.severity": ["critical", "high", "warning", "info"],
            "body.from_date": ["2026-01-01", "2026-01-01T00:00:00Z"],
            "body.to_date": ["2027-01-01", "2027-01-01T00:00:00Z"],
            "body.page": [1, 2, 3],
            "body.page_size": [1, 20, 100],
            "body.include": ["descendants"],
        },
    }
    with open(os.environ["SCHEMA_WORLD"], "w", encoding="utf-8") as file:
        json.dump(world, file, indent=1)


main()
