/**
 * A nats-server to run: found, or got where none is found.
 *
 * Owns: the order of the two, and the one error that tells of both. Does not own: either of them.
 */
import { isHoldfastError } from "../../../actors/errors.ts";
import {
  type FindOptions,
  type FoundServer,
  findNatsServer,
  missingServerError,
  type RejectedServer,
} from "./find.ts";
import { obtainNatsServer } from "./obtain.ts";

export interface ProvideOptions extends FindOptions {
  /** Whether one may be downloaded. Default: true. */
  readonly mayObtain?: boolean | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** The newest suite first; the machine's own where that one gives none that runs here. */
const SUITES = ["newest", "floor"] as const;

/** Throws `config`: what was looked at, what is needed, why none could be got, what can be done. */
export async function provideNatsServer(options: ProvideOptions): Promise<FoundServer> {
  const first = await findNatsServer(options);
  if (first.kind === "found") return first.server;
  let rejected: readonly RejectedServer[] = first.rejected;
  if (options.mayObtain === false) throw missingServerError({ ...options, rejected });
  let cause: unknown;
  for (const suite of SUITES) {
    try {
      const { path } = await obtainNatsServer({
        suite,
        environment: options.environment,
        ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
      });
      const again = await findNatsServer(options);
      if (again.kind === "missing") rejected = again.rejected;
      else
        return again.server.path === path ? { ...again.server, source: "obtained" } : again.server;
    } catch (error) {
      cause = error;
      // What another try may mend is not mended by asking the same archive for another suite.
      if (!isHoldfastError(error) || error.retry !== "never") break;
    }
  }
  throw missingServerError({ ...options, rejected, cause });
}
