/** One folder, two daemons, by the command line alone: who is refused, who takes over, and what the former owner says. */
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { buildProgram, until, Workplace } from "./workplace.ts";

let place: Workplace;

beforeAll(() => {
  buildProgram();
});

beforeEach(async () => {
  place = new Workplace();
  await place.useServer("newest");
});

afterEach(() => place.clear());

const inOneLine = (text: string): string => text.replace(/\s+/g, " ");

it("[ES-3, G4] `up --take-over` takes folder and partition from a daemon that hangs, which ends with exit code 3 and says who has them", async () => {
  const first = await place.up();
  await place.run(["submit", "load", JSON.stringify({ name: "a", until: place.path("gate") })]);
  first.signal("SIGSTOP");
  const refused = await place.run(["up"]);
  expect(refused.code).toBe(5);
  expect(inOneLine(refused.stderr)).toContain(`belongs to process ${first.pid} `);
  expect(inOneLine(refused.stderr)).toContain("or take over with --take-over");
  const second = await place.up("--take-over");
  first.signal("SIGCONT");
  expect((await first.ended).code).toBe(3);
  const last = inOneLine(first.stderr()).split("holdfast: ").at(-1);
  expect(last).toMatch(
    new RegExp(`:${second.pid} took the partition at position \\d+; this one stops\\.`),
  );
  place.file("gate");
  await until(() => place.effects().length === 1);
  const verified = await place.run(["verify", "--json"]);
  expect(verified.json()).toMatchObject({ ok: true, errors: 0, fences: 2 });
  // The folder is the second one's alone: it is found there, and stops in order.
  expect((await place.run(["status", "--json"])).code).toBe(0);
  second.signal("SIGTERM");
  expect((await second.ended).code).toBe(0);
});

it("[ES-4] after a kill the next daemon starts at once, however long the lease of the first would live", async () => {
  const first = await place.up("--lease-ttl", "600000");
  await first.kill();
  const startedAt = performance.now();
  await place.up("--lease-ttl", "600000");
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

it.each([
  [["--lease-ttl", "soon"], 64, "--lease-ttl is a number of milliseconds, found soon"],
  [["--lease-ttl", "100"], 1, "from 500 to 600000, found 100"],
])("refuses %j before it takes anything", async (words, code, text) => {
  const ended = await place.run(["up", ...words]);
  expect(ended.code).toBe(code);
  expect(inOneLine(ended.stderr)).toContain(text);
});
