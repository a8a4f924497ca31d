import { expect, it } from "vitest";
import { JournalError } from "../../../actors/errors.ts";
import { apiRefusal, translateError } from "../../../infra/jetstream/errors.ts";

const attempt = { action: "read the log", details: { stream: "S" } };
const change = { ...attempt, action: "create the stream", isChange: true };

const coded = (code: string): Error => Object.assign(new Error("as the client says it"), { code });

it.each([
  ["TIMEOUT", "backoff", "refused", "unknown"],
  ["503", "backoff", "refused", "refused"],
  ["CONNECTION_REFUSED", "backoff", "refused", "refused"],
  ["DISCONNECT", "backoff", "refused", "unknown"],
  ["ECONNRESET", "backoff", "refused", "refused"],
  ["AUTHORIZATION_VIOLATION", "never", "refused", "refused"],
  ["PERMISSIONS_VIOLATION", "never", "refused", "refused"],
  ["SOMETHING_NEW", "never", "refused", "unknown"],
])("knows the client's %s", (code, retry, readOutcome, changeOutcome) => {
  const cause = coded(code);
  const reading = translateError(cause, attempt);
  expect(reading).toMatchObject({
    code: "journal",
    retry,
    details: { stream: "S", outcome: readOutcome, clientCode: code },
  });
  expect(reading.cause).toBe(cause);
  expect(translateError(cause, change).details.outcome).toBe(changeOutcome);
});

it("says what an unknown error was, whatever was thrown", () => {
  expect(translateError(coded("SOMETHING_NEW"), attempt).message).toContain(
    "SOMETHING_NEW: as the client says it",
  );
  expect(translateError("a text", attempt).message).toContain("a text");
});

it("leaves its own errors as they are", () => {
  const own = new JournalError("own");
  expect(translateError(own, attempt)).toBe(own);
});

it.each([
  [404, 10059, "never"],
  [400, 10025, "never"],
  [503, 10008, "backoff"],
  [500, 10023, "backoff"],
  [503, 10039, "never"],
  [503, 19999, "backoff"],
])("advises by code: class %d, code %d", (code, err_code, retry) => {
  const refusal = apiRefusal({ code, err_code, description: "as the server says it" }, change);
  expect(refusal).toMatchObject({
    code: "journal",
    retry,
    details: { outcome: "refused", apiCode: err_code },
  });
  expect(refusal.message).toContain("create the stream");
});
