import assert from "node:assert/strict";
import { Path, Problems } from "#schema";
import { parseFieldSelector } from "./field-selector.ts";
import {
  checkLabelSelector,
  parseLabelSelector,
  selectorFromLabelSelector,
} from "./label-selector.ts";
import { StatusError } from "../status/status.ts";

/** Objects by name; a selector picks names. */
const objects: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { app: "web", tier: "front", "example.com/x": "1" },
  b: { app: "web", tier: "back" },
  c: { app: "db", empty: "", size: "10" },
  d: { size: "9" },
  e: { app: "" },
};

function picked(selector: string): string {
  const selection = parseLabelSelector(selector);
  return Object.keys(objects)
    .filter((name) => selection.matches(objects[name] ?? {}))
    .join("");
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError && error.code === 400) return error.message;
    throw error;
  }
  return "accepted";
}

describe("label selectors", () => {
  const picks: readonly (readonly [string, string])[] = [
    ["", "abcde"],
    ["app=web", "ab"],
    ["app==web", "ab"],
    ["app!=web", "cde"],
    ["app in (web,db)", "abc"],
    ["app in(web)", "ab"],
    ["app notin (web)", "cde"],
    ["tier", "ab"],
    ["!tier", "cde"],
    ["! tier", "cde"],
    ["app=web,tier=back", "b"],
    ["app in (web, db),tier notin (back),!empty", "a"],
    ["example.com/x=1", "a"],
    ["app=", "e"],
    ["app in (,web)", "abe"],
    ["app in ()", "e"],
    ["size>9", "c"],
    ["size<10", "d"],
    ["in in (a),notin", ""],
    ["constructor", ""],
  ];
  for (const [selector, names] of picks) {
    it(`"${selector}" selects ${names || "nothing"}`, () => assert.equal(picked(selector), names));
  }

  const parse = "unable to parse requirement: ";
  const refused: readonly (readonly [string, string])[] = [
    ["app===web", `${parse}found '=', expected: identifier`],
    ["a pp", `${parse}found 'pp', expected: in, notin, =, ==, !=, gt, lt`],
    ["app=a b", "found 'b', expected: ',' or 'end of string'"],
    ["app in (web", `${parse}found '', expected: ',' or ')'`],
    ["app in web", `${parse}found 'web' expected: '('`],
    ["app,", "found '', expected: identifier after ','"],
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["!", `${parse}found '', expected: identifier`],
    ["!app=x", "found '=', expected: ',' or 'end of string'"],
    ["app IN (a)", `${parse}found 'IN', expected: in, notin, =, ==, !=, gt, lt`],
    [
      "size>x",
      `${parse}values[0]: Invalid value: "x": ` +
        "for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    [
      `app=${"v".repeat(64)}`,
      `${parse}values[0][app]: Invalid value: "${"v".repeat(64)}": ` +
        "must be no more than 63 characters",
    ],
    [
      "k".repeat(64),
      `${parse}<nil>: Invalid value: "${"k".repeat(64)}": ` +
        "name part must be no more than 63 characters",
    ],
  ];
  for (const [selector, message] of refused) {
    it(`"${selector.slice(0, 20)}" is refused`, () => {
      assert.equal(
        refusal(() => parseLabelSelector(selector)),
        message,
      );
    });
  }

  it("prints an equivalent selector", () => {
    for (const [selector, names] of picks) {
      const printed = parseLabelSelector(selector).toString();
      assert.equal(picked(printed), names, `${selector} -> ${printed}`);
      assert.equal(parseLabelSelector(printed).toString(), printed);
    }
  });

  it("selects nothing with an absent LabelSelector, everything with an empty one", () => {
    assert.equal(selectorFromLabelSelector(undefined).matches({}), false);
    assert.equal(selectorFromLabelSelector({}).matches({}), true);
    const selection = selectorFromLabelSelector({
      matchLabels: { app: "web" },
      matchExpressions: [{ key: "tier", operator: "NotIn", values: ["back"] }],
    });
    assert.equal(selection.toString(), "app=web,tier notin (back)");
    assert.equal(selection.matches(objects["a"] ?? {}), true);
    assert.equal(selection.matches(objects["b"] ?? {}), false);
  });

  it("validates a LabelSelector", () => {
    const problems = new Problems();
    const selector = {
      matchLabels: { app: "not ok!" },
      matchExpressions: [
        { key: "a", operator: "In" },
        { key: "b", operator: "Exists", values: ["x"] },
        { key: "bad key", operator: "Is" },
      ],
    };
    checkLabelSelector(selector, Path.of("spec.selector"), problems);
    assert.deepEqual(
      problems.list.map(({ field, type }) => `${field} ${type}`),
      [
        "spec.selector.matchLabels FieldValueInvalid",
        "spec.selector.matchExpressions[0].values FieldValueRequired",
        "spec.selector.matchExpressions[1].values FieldValueForbidden",
        "spec.selector.matchExpressions[2].operator FieldValueInvalid",
        "spec.selector.matchExpressions[2].key FieldValueInvalid",
      ],
    );
  });
});

describe("field selectors", () => {
  it("parses requirements, and drops empty terms", () => {
    const selection = parseFieldSelector("metadata.name=a,,status.phase!=Running,x==y\\,z\\\\");
    assert.equal(selection.toString(), "metadata.name=a,status.phase!=Running,x=y\\,z\\\\");
    const fields = { "metadata.name": "a", "status.phase": "Done", x: "y,z\\" };
    assert.equal(selection.matches(fields), true);
    assert.equal(selection.matches({ ...fields, "status.phase": "Running" }), false);
    assert.equal(parseFieldSelector("spec.nodeName=").matches({}), true);
    assert.equal(parseFieldSelector("").empty, true);
  });

  const refused: readonly (readonly [string, string])[] = [
    ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ["a in (a,b)", "invalid selector: 'a in (a,b)'; can't understand 'a in (a'"],
    ["m in (a,b)", "invalid selector: 'm in (a,b)'; can't understand 'b)'"],
    ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ];
  for (const [selector, message] of refused) {
    it(`"${selector}" is refused`, () => {
      assert.equal(
        refusal(() => parseFieldSelector(selector)),
        message,
      );
    });
  }
});
