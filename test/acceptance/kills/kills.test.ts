/** The campaign of kills, a few cycles of it (`npm run campaign -- kills` for as many as you like). */
import { expect, it } from "vitest";
import { runKills } from "../../campaigns/kills/campaign.ts";
import { say } from "../../support/say.ts";

it("[ES-4, ES-8, ES-10, TREE-6] kill -9 of the daemon and of its server under load loses and doubles nothing", async () => {
  const options = { cycles: 6, seed: 4, durability: "process", print: () => undefined } as const;
  const { faults, figures } = await runKills(options);
  say(`kills: ${JSON.stringify(figures)}`);
  expect(faults).toEqual([]);
  expect(figures).toMatchObject({ cycles: 6, "logs checked": 6 });
});
