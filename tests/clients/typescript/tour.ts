// The README's tour with a generated client: `paths` is made of openapi.json, nothing here is written by hand about what
// the interface takes and gives. Prints what tests/clients/tour.txt says.

import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./bailiwick.js";
import { readFileSync } from "node:fs";

const base = process.env["TOUR_BASE"] ?? "";
const access_token = process.env["TOUR_ACCESS"] ?? "";

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The whole answer of a success. */
async function done<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok || data === undefined) {
    throw new Error(`${response.url} answered ${response.status}: ${JSON.stringify(error)}`);
  }
  return data;
}

function client(at: string, authorization?: string): Client<paths> {
  return createClient<paths>({ baseUrl: base + at, headers: authorization ? { authorization } : {} });
}

function basic(key: string, secret: string): string {
  return `Basic ${Buffer.from(`${key}:${secret}`).toString("base64")}`;
}

async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error("it does not happen");
}

const nobody = client("/api");
const session = await done(nobody.POST("/auth/exchange", { body: { access_token } }));
const people = client("/api", `Bearer ${session.data.token}`);
const me = await done(people.GET("/me"));
console.log(`me: ${me.data.name}, ${me.data.org_role}`);

async function system(name: string, organization_id: string): Promise<{ id: string; key: string; secret: string }> {
  const made = await done(people.POST("/systems", { body: { name, organization_id } }));
  const secret = made.data.system_secret;
  if (!secret) throw new Error("no secret");
  const registered = await done(nobody.POST("/systems/register", { body: { system_secret: secret } }));
  console.log(`${name}: ${registered.message}`);
  return { id: made.data.id, key: registered.data.system_key, secret };
}

// The chain.
const alfa = await done(people.POST("/distributors", { body: { name: "Alfa Distribution", custom_data: { vat: "IT01234567890" } } }));
const beta = await done(
  people.POST("/resellers", {
    body: { name: "Beta Resale", custom_data: { vat: "IT09876543210" }, created_by_organization_id: alfa.data.id },
  }),
);
const gamma = await done(
  people.POST("/customers", {
    body: { name: "Gamma Srl", custom_data: { vat: "IT11122233344" }, created_by_organization_id: beta.data.id },
  }),
);
const milan = await system("Milan cluster", gamma.data.id);
const customers = await done(people.GET("/customers", { params: { query: { page_size: 10, sort_by: "name" } } }));
for (const c of customers.data.customers) console.log(`customer: ${c.name}, ${c.systems_count} system`);

// Be the system.
const itself = client("/collect/api", basic(milan.key, milan.secret));
console.log((await done(itself.POST("/systems/heartbeat"))).message);
const file = readFileSync("crates/inventory/tests/data/inventory-ns8.json", "utf8");
const inventory = JSON.parse(file) as { facts: { modules: { id: string; version: string }[] } };
console.log((await done(itself.POST("/systems/inventory", { body: inventory }))).message);
const at = { params: { path: { id: milan.id } } };
await until(async () => (await done(people.GET("/systems/{id}/inventory/latest", at))).data ?? undefined);
const shown = await done(people.GET("/systems/{id}", at));
console.log(`system: ${shown.data.type} ${shown.data.version}, ${shown.data.status}, ${shown.data.fqdn}`);

// Something changes.
for (const module of inventory.facts.modules) if (module.id === "mail1") module.version = "1.9.5";
await done(itself.POST("/systems/inventory", { body: inventory }));
const diffs = await until(async () => {
  const { data } = await done(people.GET("/systems/{id}/inventory/diffs", at));
  return data.diffs.length > 0 ? data.diffs : undefined;
});
for (const d of diffs) console.log(`changed: ${d.severity} ${d.diff_type} ${d.category} ${d.field_path}`);

// Alert. The router is mounted at services/<name>/alertmanager.
const service = { path: { service: "alertmanager" } };
const router = client("/collect/api/services/mimir", basic(milan.key, milan.secret));
const labels = { alertname: "DiskSpaceLow", severity: "warning", mountpoint: "/" };
const pushed = await router.POST("/{service}/api/v2/alerts", {
  params: service,
  body: [{ labels, annotations: { summary: "disk is filling" } }],
  parseAs: "stream",
});
if (!pushed.response.ok) throw new Error(`pushing: ${pushed.response.status}`);
const alerts = async () => done(router.GET("/{service}/api/v2/alerts", { params: service }));
for (const a of await alerts()) console.log(`alert: ${a.labels["alertname"]}, ${a.status.state}`);
const silence = await done(
  router.POST("/{service}/api/v2/silences", {
    params: service,
    body: {
      matchers: [{ name: "alertname", value: "DiskSpaceLow", isRegex: false }],
      startsAt: new Date().toISOString(),
      endsAt: new Date(Date.now() + 3_600_000).toISOString(),
      createdBy: "me",
      comment: "looking at it",
    },
  }),
);
for (const a of await alerts()) console.log(`alert: ${a.labels["alertname"]}, ${a.status.state}`);

// Nobody else sees it.
const delta = await done(people.POST("/customers", { body: { name: "Delta Srl", custom_data: { vat: "IT55566677788" } } }));
const rome = await system("Rome firewall", delta.data.id);
const other = client("/collect/api/services/mimir", basic(rome.key, rome.secret));
console.log(`others' alerts: ${(await done(other.GET("/{service}/api/v2/alerts", { params: service }))).length}`);
const hidden = await other.GET("/{service}/api/v2/silences/{silence_id}", {
  params: { path: { ...service.path, silence_id: silence.silenceID } },
});
console.log(`others' silence: ${hidden.response.status}`);

// A refusal is typed as well.
const refused = await people.POST("/customers", { body: { name: "" } });
if (!refused.error) throw new Error("an empty name was taken");
console.log(`refused: ${refused.error.message}`);
