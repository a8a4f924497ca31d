// @ts-check
/**
 * Holdfast inside another service: no daemon, no command line. A small HTTP service takes orders; an order is a durable job.
 *
 *   POST /orders/ID  submits the order; the answer comes when it is in the journal, so that it cannot be lost any more
 *   GET  /orders/ID  says where it stands
 *
 * Run it (node examples/embedding/service.mjs [FOLDER]): it starts, sends itself an order, waits for its end, and stops. Started
 * again on the same folder it finds the order there, and packs nothing twice.
 */
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { defineDoer, defineTool, openRuntime } from "holdfast";
import { z } from "zod";

const pack = defineTool({
  type: "parcel.pack",
  input: z.object({ article: z.string() }),
  output: z.object({ grams: z.number() }),
  retry: { class: "safe_to_retry", budget: 3 },
  async run(context, { article }) {
    await pause(100, undefined, { signal: context.signal });
    return { grams: 100 * article.length };
  },
});

const order = defineDoer({
  type: "order",
  input: z.object({ articles: z.array(z.string()).min(1) }),
  output: z.object({ parcels: z.number(), grams: z.number() }),
  async run(context, { articles }) {
    context.nextStep(); // What follows runs in parallel.
    const parcels = await Promise.all(
      articles.map((article) => context.submitInCurrentStep(pack, { article }, { key: article })),
    );
    const packed = await Promise.all(parcels.map((parcel) => parcel.result()));
    return { parcels: packed.length, grams: packed.reduce((sum, { grams }) => sum + grams, 0) };
  },
});

// Start.
const data = process.argv[2] ?? mkdtempSync(join(tmpdir(), "holdfast-embedding-"));
const holdfast = await openRuntime({ jobs: [order, pack], data });
const { runtime } = holdfast;

const service = createServer(async (request, response) => {
  const id = request.url?.replace("/orders/", "") ?? "";
  if (request.method === "POST") {
    // Submit. What is refused (wrong input, a known id with other input) has changed nothing.
    const { decision, refusal } = await runtime.submitByType("order", await json(request), { id });
    const reason = refusal?.message;
    response.writeHead(refusal === null ? 202 : 422).end(JSON.stringify({ decision, reason }));
    return;
  }
  // Observe.
  const jobs = (await holdfast.trajectory(id)) ?? [];
  const told = jobs.map(({ path, type, state }) => `${path} ${type} ${state}`);
  response.writeHead(jobs.length > 0 ? 200 : 404).end(told.join("\n"));
});
service.listen(0, "127.0.0.1");
await once(service, "listening");

const { port } = /** @type {import("node:net").AddressInfo} */ (service.address());
const url = `http://127.0.0.1:${port}/orders/4711`;
const body = JSON.stringify({ articles: ["lamp", "rope", "tide table"] });
console.log(`POST ${url}`, await (await fetch(url, { method: "POST", body })).text());
const job = await runtime.find("4711");
console.log("result", await job?.result({ timeoutMs: 10_000 }));
console.log(`GET ${url}\n${await (await fetch(url)).text()}`);

// Stop: what still ran would come back at the next start.
service.close();
await holdfast.stop();
