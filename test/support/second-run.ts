/**
 * A doer that is lost with its process and runs again.
 */
import { assertLiveIsFold } from "./fold.ts";
import { flush, TestRuntime } from "./runtime.ts";
import type { Plan, Workshop } from "./workshop.ts";

/** Where the first run stands when its process is lost. */
export const forever = () => new Promise<never>(() => undefined);

/** One runtime whose root runs `first`, is lost with its process, and runs `second`. */
export async function twice(
  shop: Workshop,
  first: Plan,
  second: Plan,
  options: { readonly definition?: "doer" | "keeper" } = {},
) {
  const test = await TestRuntime.start({ definitions: shop.all });
  shop.plan("root", (context) => (context.attempt === 1 ? first(context) : second(context)));
  const definition = shop[options.definition ?? "doer"];
  await test.runtime.submit(definition, { label: "root" }, { id: "r" });
  await flush();
  assertLiveIsFold(test.runtime, test.log.messages);
  await test.restart();
  assertLiveIsFold(test.runtime, test.log.messages);
  const handle = await test.runtime.find("r");
  if (handle === null) throw new Error("the root is gone");
  return { test, handle };
}
