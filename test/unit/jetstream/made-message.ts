/**
 * Messages as the client gives them, made by hand: without its private fields, so that the accessors are used.
 */
import type { Msg } from "nats";

export interface MadeMessage {
  readonly subject?: string;
  readonly reply?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: { readonly code: number; readonly description: string };
  readonly data?: Uint8Array;
  readonly respond?: () => boolean;
}

export function makeMessage(made: MadeMessage): Msg {
  const { headers, status } = made;
  const entries = Object.entries(headers ?? {}).map(([name, value]) => [name, [value]] as const);
  const block = {
    code: status?.code ?? 0,
    description: status?.description ?? "",
    status: `${status?.code ?? ""} ${status?.description ?? ""}`,
    [Symbol.iterator]: () => entries[Symbol.iterator](),
  };
  const data = made.data ?? new Uint8Array(0);
  const message = {
    subject: made.subject ?? "s",
    reply: made.reply,
    headers: headers === undefined && status === undefined ? undefined : block,
    data,
    string: () => Buffer.from(data).toString("utf8"),
    respond: made.respond ?? (() => true),
  };
  // A test double: only what the code under test may touch.
  return message as unknown as Msg;
}

/** The reply subject of a delivered message. */
export const deliveryReply = (sequence: number, delivered: number, pending: number): string =>
  `$JS.ACK.S.consumer.1.${sequence}.${delivered}.1796069512320294205.${pending}`;
