// A consumer of webhooks as other people write one: the stock library of the Standard Webhooks project verifies, the id
// tells what has come twice. What it has taken is in a file before it is answered, so it can be killed at any time.
//
// Arguments: directory of node_modules, port, file, secrets separated by commas (any of them is the present one).
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { appendFileSync, existsSync, readFileSync } from "node:fs";

const [modules, port, file, secrets] = process.argv.slice(2);
const { Webhook } = createRequire(`${modules}/`)("standardwebhooks");
const hooks = secrets.split(",").map((secret) => new Webhook(secret));

const seen = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
let duplicates = 0;
let refused = 0;

const verified = (body, headers) => {
  for (const hook of hooks) {
    try {
      return hook.verify(body, headers);
    } catch {
      // Another secret may fit.
    }
  }
  return null;
};

createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    if (request.method === "GET") {
      response.end(JSON.stringify({ unique: seen.size, duplicates, refused }));
      return;
    }
    const event = verified(Buffer.concat(chunks).toString("utf8"), request.headers);
    if (event === null || event.id !== request.headers["webhook-id"] || !event.type || !event.timestamp) {
      refused += 1;
      response.statusCode = 400;
      response.end();
      return;
    }
    if (seen.has(event.id)) {
      duplicates += 1;
    } else {
      appendFileSync(file, `${event.id}\n`);
      seen.add(event.id);
    }
    response.statusCode = 204;
    response.end();
  });
}).listen(Number(port), "127.0.0.1");
