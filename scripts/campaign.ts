/**
 * `npm run campaign -- NAME [OPTIONS]`: long runs that are no part of the tests. Exit code 1 when something did not hold.
 *
 * Owns: which campaigns there are. Does not own: what they do, and their options: each module's `run` does.
 */
interface Campaign {
  /** True: everything held. */
  readonly run: (words: readonly string[], print: (line: string) => void) => Promise<boolean>;
}

const CAMPAIGNS: Readonly<Record<string, () => Promise<Campaign>>> = {
  kills: () => import("../test/campaigns/kills/campaign.ts"),
};

const [name = "", ...words] = process.argv.slice(2);
const load = CAMPAIGNS[name];
if (load === undefined) {
  console.error(`No campaign is named "${name}"; there are: ${Object.keys(CAMPAIGNS).join(", ")}.`);
  process.exitCode = 2;
} else {
  const campaign = await load();
  const held = await campaign.run(words, (line) => console.log(line));
  process.exitCode = held ? 0 : 1;
}
