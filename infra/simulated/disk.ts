/**
 * What a simulated store keeps: a stream in memory that answers at once, and can lose its end.
 *
 * Owns: turning the in-memory log's answers into return values, and building a shorter stream from a longer one. Does not own:
 * what is stored under which conditions (infra/memory).
 */
import type {
  LogAppender,
  OutgoingMessage,
  PublishAnswer,
  StoredMessage,
} from "../../actors/journal/log.ts";
import { invariant } from "../../machines/invariant.ts";
import { MemoryLog, type MemoryLogOptions } from "../memory/log.ts";

export interface DiskOptions {
  /** Wall clock, ms. */
  readonly nowMs: () => number;
  /** Size limit of the stream in bytes; null: none. */
  readonly bytesMax: number | null;
}

export class Disk {
  readonly log: MemoryLog;
  readonly #appender: LogAppender;
  /** Given by the stream while it is published to. */
  readonly #answers: PublishAnswer[];

  private constructor(log: MemoryLog, appender: LogAppender, answers: PublishAnswer[]) {
    this.log = log;
    this.#appender = appender;
    this.#answers = answers;
  }

  /** A stream that begins with these messages, each at its own time of storing. */
  static async open(options: DiskOptions, kept: readonly StoredMessage[] = []): Promise<Disk> {
    let nowMs = options.nowMs;
    const { bytesMax } = options;
    const memory: MemoryLogOptions = {
      schedule: (task) => task(),
      nowMs: () => nowMs(),
      ...(bytesMax === null ? {} : { bytesMax }),
    };
    const log = new MemoryLog(memory);
    const answers: PublishAnswer[] = [];
    const appender = await log.openAppender({
      onAnswer: (_, answer) => answers.push(answer),
      onDisconnect: () => undefined,
    });
    const disk = new Disk(log, appender, answers);
    for (const { storedAtMs, subject, id, frame, body } of kept) {
      nowMs = () => storedAtMs;
      disk.store([{ subject, id, frame, body }]);
    }
    nowMs = options.nowMs;
    return disk;
  }

  get messages(): readonly StoredMessage[] {
    return this.log.messages;
  }

  /** Stores one message, or several as one: all or none. */
  store(messages: readonly OutgoingMessage[]): PublishAnswer {
    const [first, ...others] = messages;
    invariant(first !== undefined, "there is something to store");
    if (others.length === 0) this.#appender.publish(first, 0);
    else this.#appender.publishBatch(messages, 0);
    const answer = this.#answers.pop();
    invariant(answer !== undefined, "the stream answers at once");
    return answer;
  }
}
