/**
 * The contract of the Log port: one suite, held against every adapter.
 *
 * Owns: what a journal may rely on (L1–L4 in `actors/journal/log.ts`). Does not own: what is special to one adapter.
 */
import { afterEach, beforeEach, describe } from "vitest";
import { batches } from "./log-batches.ts";
import { type CurrentFixture, type LogFactory, type LogFixture, present } from "./log-fixture.ts";
import { chains, crashes, endings, publishing, rivals } from "./log-publishing.ts";
import { exactness, filters, following, lastMessages, reading } from "./log-reading.ts";

/** Each test gets a log of its own, empty. */
export function describeLogContract(name: string, create: LogFactory): void {
  describe(`the Log contract, ${name}`, () => {
    let fixture: LogFixture | null = null;
    beforeEach(async () => {
      fixture = await create();
    });
    afterEach(async () => {
      await fixture?.dispose();
      fixture = null;
    });
    const current: CurrentFixture = () => present(fixture);
    describe("publishing", () => publishing(current));
    describe("a chain", () => chains(current));
    describe("a batch", () => batches(current));
    describe("a rival", () => rivals(current));
    describe("the end of an appender", () => endings(current));
    describe("a crash", () => crashes(current));
    describe("reading", () => reading(current));
    describe("what is read", () => exactness(current));
    describe("filters", () => filters(current));
    describe("the last message", () => lastMessages(current));
    describe("following", () => following(current));
  });
}
