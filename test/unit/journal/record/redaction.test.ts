import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { REDACTED, Redactor, SECRET_LENGTH_MIN } from "../../../../actors/journal/redaction.ts";

/** Every string in a value, keys included. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  return [...keys, ...Object.values(value).flatMap(stringsIn)];
}

const secrets = fc
  .string({ unit: "grapheme-ascii", minLength: SECRET_LENGTH_MIN, maxLength: 20 })
  // What stands in the replacement itself cannot be kept out of it.
  .filter((secret) => !REDACTED.includes(secret));

/** Values with secrets in them: whole strings, parts of strings, keys, at any depth. */
const valuesWith = (known: readonly string[]): fc.Arbitrary<unknown> => {
  const text = fc
    .tuple(fc.string({ maxLength: 5 }), fc.constantFrom(...known, ""), fc.string({ maxLength: 5 }))
    .map((parts) => parts.join(""));
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
};

describe("[REC-7] a registered secret", () => {
  it("stands nowhere in what is redacted: not whole, not inside a string, not in a key (P1)", () => {
    const cases = fc
      .uniqueArray(secrets, { minLength: 1, maxLength: 4 })
      .chain((known) => fc.tuple(fc.constant(known), valuesWith(known)));
    fc.assert(
      fc.property(cases, ([known, value]) => {
        const redactor = new Redactor();
        for (const secret of known) redactor.register(secret);
        const strings = stringsIn(redactor.redact(value));
        // Cut at the replacements: what stands around one is not what was given.
        const left = strings.flatMap((text) => text.split(REDACTED));
        expect(left.filter((text) => known.some((secret) => text.includes(secret)))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("is taken literally, whatever it means in a pattern", () => {
    const redactor = new Redactor();
    const secret = "a.*+?^$1{}()|[]\\b-/$&";
    redactor.register(secret);
    expect(redactor.redact(`<${secret}> aXXXXXXXX`)).toBe(`<${REDACTED}> aXXXXXXXX`);
  });

  it("that holds another one is replaced whole, whichever came first", () => {
    for (const order of [
      ["password", "password-and-more"],
      ["password-and-more", "password"],
    ]) {
      const redactor = new Redactor();
      for (const secret of order) redactor.register(secret);
      expect(redactor.redact("x password-and-more, password y")).toBe(
        `x ${REDACTED}, ${REDACTED} y`,
      );
    }
  });

  it("is replaced each time it occurs, in calls that follow each other too", () => {
    const redactor = new Redactor();
    redactor.register("12345678");
    for (let call = 0; call < 3; call += 1)
      expect(redactor.redact("12345678123456781")).toBe(`${REDACTED}${REDACTED}1`);
  });

  it("that is digits is replaced where it stands as a number that somebody gave, and nowhere else (P1)", () => {
    const redactor = new Redactor();
    redactor.register("12345678");
    const given = { pin: 12345678, list: [-912345678.5, 1234567], deep: { a: 12345678 } };
    const told = { pin: REDACTED, list: [`-9${REDACTED}.5`, 1234567], deep: { a: REDACTED } };
    const event = (value: unknown) => ({
      type: "x",
      attempt: 12345678,
      spec: { timeoutMs: 12345678, input: value, metadata: { a: value } },
      failure: { cause: { details: value } },
      result: value,
      value,
    });
    expect(redactor.redact(event(given))).toEqual(event(told));
  });

  it("is refused when it is short enough to be ordinary text (P2)", () => {
    const redactor = new Redactor();
    const short = "x".repeat(SECRET_LENGTH_MIN - 1);
    expect(() => redactor.register(short)).toThrow(
      expect.objectContaining({ code: "invalid_argument" }),
    );
    expect(redactor.redact(`a ${short} b`)).toBe(`a ${short} b`);
  });
});

it("leaves what holds no secret as it is, and gives back the very value when none is registered", () => {
  const value = { a: [1, "text", null, { deep: true }], "": "" };
  expect(new Redactor().redact(value)).toBe(value);
  const redactor = new Redactor();
  redactor.register("unrelated");
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      expect(redactor.redact(json)).toEqual(json);
    }),
  );
});
