/**
 * `npm run campaign -- NAME [OPTION …]`: long searches for faults, each a module of its own; none is a part of the tests.
 *
 * Owns: the table of names. Exit code: the campaign's own (0 when nothing was found), 2 for a name that none has.
 */
const CAMPAIGNS = {
  kills: () => import("../test/campaigns/kills/campaign.ts"),
  lives: () => import("../test/simulation/campaign.ts"),
} satisfies Record<
  string,
  () => Promise<{ campaign: (args: readonly string[]) => Promise<number> }>
>;

const [name = "", ...args] = process.argv.slice(2);
const names = Object.keys(CAMPAIGNS);
const found = Object.entries(CAMPAIGNS).find(([known]) => known === name);
if (found === undefined) {
  process.stderr.write(
    `No campaign is named ${JSON.stringify(name)}; there are: ${names.join(", ")}.\n`,
  );
  process.exitCode = 2;
} else {
  const { campaign } = await found[1]();
  process.exitCode = await campaign(args);
}
