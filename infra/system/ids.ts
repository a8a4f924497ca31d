/**
 * The Ids port on this machine.
 */
import { createHash, randomBytes, randomFillSync } from "node:crypto";
import { monotonicFactory } from "ulid";
import type { Ids } from "../../actors/ports/ids.ts";

/** 128 bits. */
const DIGEST_BYTES = 16;

/** Random bytes are drawn many at a time: a ULID asks for sixteen, one by one. */
const POOL_BYTES = 4_096;

function pooledRandom(): () => number {
  const pool = new Uint8Array(POOL_BYTES);
  let next = POOL_BYTES;
  return () => {
    if (next === POOL_BYTES) {
      randomFillSync(pool);
      next = 0;
    }
    const byte = pool[next] ?? 0;
    next += 1;
    return byte / 256;
  };
}

export function systemIds(): Ids {
  const ulid = monotonicFactory(pooledRandom());
  return {
    ulid: () => ulid(),
    writerId: () => randomBytes(DIGEST_BYTES).toString("base64url"),
    digest: (text) =>
      createHash("sha256").update(text).digest().subarray(0, DIGEST_BYTES).toString("base64url"),
  };
}
