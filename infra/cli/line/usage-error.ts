/**
 * A command line that cannot be understood.
 *
 * Owns: the class by which `holdfast` tells its caller's slips from everything else. Does not own: finding them (arguments.ts).
 */
import { InvalidArgumentError } from "../../../actors/errors.ts";

/** Its message is a sentence, and says what would have been right. */
export class UsageError extends InvalidArgumentError {}
