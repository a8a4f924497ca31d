/**
 * A daemon in a process of its own, with jobs that keep it busy: `node --import tsx daemon-process.ts OPTIONS`, where OPTIONS is
 * a JSON object of DaemonOptions. Says "up" when it is, and ends with the exit code that `holdfast up` would end with.
 */
import { isHoldfastError } from "../../../../actors/errors.ts";
import { superviseDaemon } from "../../../../infra/cli/daemon-process.ts";
import { exitCodeOf } from "../../../../infra/cli/exit-codes.ts";
import { Output } from "../../../../infra/cli/output.ts";
import { openLog } from "../../../../infra/logging/logger.ts";
import { busyJobs } from "../busy-jobs.ts";

const log = openLog();
const { stdout, stderr } = process;
const output = new Output({ isJson: false, stdout, stderr, environment: process.env });
try {
  process.exitCode = await superviseDaemon({
    options: { jobs: [], definitions: busyJobs, log, ...JSON.parse(process.argv[2] ?? "{}") },
    output,
    logger: log.logger,
    onUp: () => output.line("up"),
  });
} catch (error) {
  output.tell(isHoldfastError(error) ? error.message : String(error));
  process.exitCode = exitCodeOf(error);
}
process.exit();
