/**
 * One publishing connection to a simulated store.
 *
 * Owns: what is under way on it, carrying out the fate of each publish, its end. Does not own: judging and storing (store.ts).
 *
 * A1. Messages arrive in the order of the calls; answers come in the order of arrival, as on one TCP connection.
 * A2. What was sent before `close` is under way and still arrives: closing calls nothing back. What a delay held up then
 *     arrives soon, in the very moments in which a successor looks around.
 * A3. After `close` or `onDisconnect` nothing is answered.
 */
import { BODY_BYTES_MAX } from "../../actors/journal/codec.ts";
import type {
  AppenderEvents,
  LogAppender,
  OutgoingMessage,
  PublishAnswer,
} from "../../actors/journal/log.ts";
import { invariant, unreachable } from "../../machines/invariant.ts";
import { encodeHeaders } from "../jetstream/headers.ts";
import type { SimulatedClock } from "./clock.ts";
import { DELIVER, type Fate } from "./fates.ts";
import type { SimulatedStore, StoreClient, UnderWay } from "./store.ts";

interface Sent {
  /** One, or several that are stored as one. */
  readonly messages: readonly OutgoingMessage[];
  readonly index: number;
  /** Its delay is over: it is delivered now. */
  readonly isDelayed: boolean;
}

export class SimulatedAppender implements LogAppender, StoreClient {
  readonly batchMax: number;
  readonly #store: SimulatedStore;
  readonly #clock: SimulatedClock;
  readonly #events: AppenderEvents;
  readonly #underWay: Sent[] = [];
  #arrivesAtMs = 0;
  /** Nothing arrives before this instant. */
  #heldUntilMs = 0;
  #answersAtMs = 0;
  /** The client's side is over. */
  #isOver = false;
  /** The server's side is: nothing arrives any more. */
  #isBroken = false;

  constructor(store: SimulatedStore, clock: SimulatedClock, events: AppenderEvents) {
    this.batchMax = store.batchMax;
    this.#store = store;
    this.#clock = clock;
    this.#events = events;
    store.connect(this);
  }

  publish(message: OutgoingMessage, index: number): void {
    this.#send([message], index);
  }

  publishBatch(messages: readonly OutgoingMessage[], lastIndex: number): void {
    const { length } = messages;
    invariant(length >= 2 && length <= this.batchMax, "a batch has its size checked before", {
      length,
      lengthMax: this.batchMax,
    });
    this.#send(messages, lastIndex);
  }

  #send(messages: readonly OutgoingMessage[], index: number): void {
    for (const message of messages) checkMessage(message);
    if (this.#isOver || this.#clock.isDead) return;
    const copies = messages.map((message) => ({ ...message, body: message.body.slice() }));
    this.#underWay.push({ messages: copies, index, isDelayed: false });
    const { time } = this.#store.machine;
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, time.nowMs + this.#store.latencyMs());
    time.in(this.#arrivesAtMs - time.nowMs, () => this.#arriveNext());
  }

  close(): Promise<void> {
    this.#isOver = true;
    // It stays with the store until all that is under way has arrived (A2).
    if (this.#underWay.length === 0) this.#store.disconnect(this);
    else this.#linger();
    return Promise.resolve();
  }

  #linger(): void {
    const { time } = this.#store.machine;
    const lingerMs = this.#store.lingerMs();
    if (time.nowMs + lingerMs >= this.#heldUntilMs) return;
    this.#heldUntilMs = time.nowMs + lingerMs;
    for (const _ of this.#underWay) time.in(lingerMs, () => this.#arriveNext());
  }

  broken(reason: string, underWay: UnderWay): void {
    if (this.#isBroken) return;
    const rest = this.#underWay.splice(0);
    // What arrives was read before the end: nothing delays it any more.
    if (underWay === "arrives") for (const sent of rest) this.#store.arrive(sent.messages);
    this.#isBroken = true;
    this.#store.disconnect(this);
    this.#clock.deliverIn(this.#store.latencyMs(), () => this.#disconnected(reason));
  }

  #disconnected(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onDisconnect(reason);
  }

  #arriveNext(): void {
    const { time } = this.#store.machine;
    if (time.nowMs < this.#heldUntilMs) {
      time.in(this.#heldUntilMs - time.nowMs, () => this.#arriveNext());
      return;
    }
    const sent = this.#underWay.shift();
    if (sent === undefined || this.#isBroken) return;
    this.#meet(sent);
    if ((this.#isOver || this.#clock.isDead) && this.#underWay.length === 0)
      this.#store.disconnect(this);
  }

  /** The first fate of its messages that is not plain delivery. */
  #fateOf({ messages, isDelayed }: Sent): Fate {
    if (isDelayed) return DELIVER;
    const fates = messages.map((message) => this.#store.fateOf(message));
    return fates.find(({ kind }) => kind !== "deliver") ?? DELIVER;
  }

  #meet(sent: Sent): void {
    const { messages, index } = sent;
    const arrive = (): PublishAnswer | null => this.#store.arrive(messages);
    const fate = this.#fateOf(sent);
    switch (fate.kind) {
      case "deliver":
        return this.#answer(index, arrive());
      case "lose":
        return;
      case "delay":
        return this.#delay(sent, fate.ms);
      case "loseAnswer":
        arrive();
        return;
      case "delayAnswer":
        this.#answersAtMs = Math.max(this.#answersAtMs, this.#store.machine.time.nowMs) + fate.ms;
        return this.#answer(index, arrive());
      case "answerTwice": {
        const answer = arrive();
        this.#answer(index, answer);
        return this.#answer(index, answer);
      }
      case "arriveTwice":
        this.#answer(index, arrive());
        return this.#answer(index, arrive());
      case "claimDuplicate":
        return this.#answer(index, this.#falseDuplicate(messages));
      case "refuse":
        return this.#answer(index, { ...fate, kind: "refused" });
      case "unavailable":
        return this.#answer(index, { kind: "unavailable", description: "no responders" });
      case "displace":
        this.#store.storeForeign(fate.by);
        return this.#answer(index, arrive());
      case "breakConnection":
        if (fate.isStored) arrive();
        return this.broken("the connection broke", "isLost");
      default:
        return unreachable(fate);
    }
  }

  #falseDuplicate(messages: readonly OutgoingMessage[]): PublishAnswer {
    const before = messages[0]?.expectedLastSequence ?? this.#store.messages.length;
    return { kind: "stored", sequence: before + messages.length, isDuplicate: true };
  }

  #delay(sent: Sent, forMs: number): void {
    const { time } = this.#store.machine;
    this.#underWay.unshift({ ...sent, isDelayed: true });
    this.#heldUntilMs = time.nowMs + forMs;
    time.in(forMs, () => this.#arriveNext());
  }

  #answer(index: number, answer: PublishAnswer | null): void {
    if (answer === null || this.#isBroken) return;
    const { nowMs } = this.#store.machine.time;
    this.#answersAtMs = Math.max(this.#answersAtMs, nowMs + this.#store.latencyMs());
    this.#clock.deliverIn(this.#answersAtMs - nowMs, () => {
      // Answers on their way are lost with the connection.
      if (!this.#isOver && !this.#isBroken) this.#events.onAnswer(index, answer);
    });
  }
}

/** What every adapter throws on. */
function checkMessage(message: OutgoingMessage): void {
  const { subject, body } = message;
  invariant(!/[\s\0]/.test(subject), "a subject holds no white space", { subject });
  invariant(body.length <= BODY_BYTES_MAX, "a body has its size checked before", {
    subject,
    bytes: body.length,
  });
  encodeHeaders(message); // Throws on what no header can hold.
}
