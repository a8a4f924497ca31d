/**
 * The Ids port on this machine.
 */
import { createHash, randomBytes } from "node:crypto";
import { monotonicFactory } from "ulid";
import type { Ids } from "../../actors/ports/ids.ts";

/** 128 bits. */
const DIGEST_BYTES = 16;

export function systemIds(): Ids {
  const ulid = monotonicFactory();
  return {
    ulid: () => ulid(),
    writerId: () => randomBytes(DIGEST_BYTES).toString("base64url"),
    digest: (text) =>
      createHash("sha256").update(text).digest().subarray(0, DIGEST_BYTES).toString("base64url"),
  };
}
