/**
 * What the Log contract needs of a store under test, and how its tests publish and collect.
 */
import type {
  Log,
  LogAppender,
  OutgoingMessage,
  PublishAnswer,
  StoredMessage,
} from "../../actors/journal/log.ts";

/** One empty log, and the power to kill what keeps it. */
export interface LogFixture {
  readonly log: Log;
  /** What every subject starts with, without the last dot. */
  readonly prefix: string;
  /** Another handle on the same log, as another process would have; the fixture closes it in the end. */
  reopen(): Promise<Log>;
  /** Kills the store without a word. */
  crash(): Promise<void>;
  /** Brings it back with what it had stored. */
  restart(): Promise<void>;
  dispose(): Promise<void>;
}

export type LogFactory = () => Promise<LogFixture>;

const encoder = new TextEncoder();

/** Unwraps what the test knows to be there. */
export function present<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("expected a value");
  return value;
}

/** Waits for conditions over what is recorded here; a condition that is never met is the test's time-out. */
class Conditions {
  #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ isMet, resolve });
    });
  }

  /** Something was recorded. */
  look(): void {
    const met = this.#waiting.filter((one) => one.isMet());
    this.#waiting = this.#waiting.filter((one) => !met.includes(one));
    for (const { resolve } of met) resolve();
  }
}

/** What a follower saw. */
export class Followed {
  readonly messages: StoredMessage[] = [];
  readonly #conditions = new Conditions();

  readonly visit = (message: StoredMessage): void => {
    this.messages.push(message);
    this.#conditions.look();
  };

  /** Resolves when at least `count` came. */
  seen(count: number): Promise<void> {
    return this.#conditions.until(() => this.messages.length >= count);
  }
}

interface Answered {
  readonly index: number;
  readonly answer: PublishAnswer;
}

let publishers = 0;

/** One appender with all that it was answered, in order. */
export class Publisher {
  readonly answers: readonly Answered[];
  readonly disconnects: readonly string[];
  readonly #prefix: string;
  readonly #appender: LogAppender;
  readonly #conditions: Conditions;
  readonly #name: string;
  #next = 0;

  private constructor(
    prefix: string,
    appender: LogAppender,
    record: { answers: Answered[]; disconnects: string[]; conditions: Conditions },
  ) {
    publishers += 1;
    this.#name = `publisher-${publishers}`;
    this.#prefix = prefix;
    this.#appender = appender;
    this.answers = record.answers;
    this.disconnects = record.disconnects;
    this.#conditions = record.conditions;
  }

  /** `onAnswer` is told how many answers there are, from inside of each. */
  static async open(
    log: Log,
    prefix: string,
    onAnswer: (count: number) => void = () => undefined,
  ): Promise<Publisher> {
    const answers: Answered[] = [];
    const disconnects: string[] = [];
    const conditions = new Conditions();
    const appender = await log.openAppender({
      onAnswer: (index, answer) => {
        answers.push({ index, answer });
        onAnswer(answers.length);
        conditions.look();
      },
      onDisconnect: (reason) => {
        disconnects.push(reason);
        conditions.look();
      },
    });
    return new Publisher(prefix, appender, { answers, disconnects, conditions });
  }

  /** Publishes; returns its index. Subject is below the prefix; by default the id is one never used before. */
  publish(scope: string, fields: Partial<Omit<OutgoingMessage, "subject">> = {}): number {
    const index = this.#next;
    this.#next += 1;
    const body = encoder.encode(`body ${index}`);
    const subject = `${this.#prefix}.${scope}`;
    const message = {
      subject,
      id: `${this.#name}.${index}`,
      frame: `frame ${index}`,
      body,
      ...fields,
    };
    this.#appender.publish(message, index);
    return index;
  }

  /** Publishes `count` messages of one writer, each chained to the one before; `after` is the position and id it starts at. */
  publishChain(
    writer: string,
    count: number,
    after: { readonly sequence: number; readonly id?: string; readonly from?: number },
  ): void {
    const from = after.from ?? 1;
    for (let at = 0; at < count; at += 1) {
      const previous = at === 0 ? after.id : `${writer}.${from + at - 1}`;
      this.publish(`task.${writer}.job`, {
        id: `${writer}.${from + at}`,
        expectedLastSequence: after.sequence + at,
        ...(previous === undefined ? {} : { expectedLastId: previous }),
      });
    }
  }

  /** Publishes unconditionally and gives the answer. */
  async store(
    scope: string,
    fields: Partial<Omit<OutgoingMessage, "subject">> = {},
  ): Promise<PublishAnswer> {
    const index = this.publish(scope, fields);
    await this.until(() => this.answers.some((given) => given.index === index));
    return present(this.answers.find((given) => given.index === index)).answer;
  }

  /** Resolves when `count` answers came in all. */
  answered(count: number): Promise<void> {
    return this.until(() => this.answers.length >= count);
  }

  until(isMet: () => boolean): Promise<void> {
    return this.#conditions.until(isMet);
  }

  close(): Promise<void> {
    return this.#appender.close();
  }
}

/** Reads everything that the options name. */
export async function readAll(
  log: Log,
  options: {
    readonly from?: number;
    readonly through?: number;
    readonly subjects?: readonly string[];
  } = {},
): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  await log.read({ from: 1, ...options }, (message) => messages.push(message));
  return messages;
}

export const sequencesOf = (messages: readonly StoredMessage[]): readonly number[] =>
  messages.map((message) => message.sequence);

/** `from … through` as a list. */
export const range = (from: number, through: number): readonly number[] =>
  Array.from({ length: Math.max(through - from + 1, 0) }, (_, at) => from + at);

export const sequenceOf = (answer: PublishAnswer): number | null =>
  answer.kind === "stored" && !answer.isDuplicate ? answer.sequence : null;

export const codeOf = (answer: PublishAnswer): number | null =>
  answer.kind === "refused" ? answer.code : null;

/** The fixture of the test that runs. */
export type CurrentFixture = () => LogFixture;

export const openPublisher = (fixture: CurrentFixture): Promise<Publisher> =>
  Publisher.open(fixture().log, fixture().prefix);

/** Publishes one message to each scope, unconditionally, and waits for the answers. */
export async function fill(fixture: CurrentFixture, scopes: readonly string[]): Promise<Publisher> {
  const publisher = await openPublisher(fixture);
  for (const scope of scopes) publisher.publish(scope);
  await publisher.answered(scopes.length);
  return publisher;
}
