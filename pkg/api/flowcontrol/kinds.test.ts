import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { flowSchema } from "./flow-schema.ts";
import { priorityLevelConfiguration } from "./priority-level-configuration.ts";

const subjects = [{ kind: "User", user: { name: "u" } }];
const level = { priorityLevelConfiguration: { name: "l" } };

describe("FlowSchema", () => {
  const complaints = (spec: Sketch, name = "x") =>
    created(flowSchema, { metadata: { name }, spec: { ...level, ...spec } }).complaints;
  const urls = (...nonResourceURLs: string[]) => ({
    rules: [{ subjects, nonResourceRules: [{ verbs: ["get"], nonResourceURLs }] }],
  });
  const url = "spec.rules[0].nonResourceRules[0].nonResourceURLs";
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{}, []],
    [
      { matchingPrecedence: 1 },
      [
        "Invalid spec.matchingPrecedence = 1: only the schema named 'exempt' may have " +
          "matchingPrecedence 1",
      ],
    ],
    [
      { distinguisherMethod: { type: "ByGroup" } },
      [
        'NotSupported spec.distinguisherMethod.type = {"Type":"ByGroup"}: supported values: ' +
          '"ByNamespace", "ByUser"',
      ],
    ],
    [
      { rules: [{ subjects: [{ kind: "Group", user: { name: "u" } }] }] },
      [
        "Required spec.rules[0].subjects[0].group: group is required when subject kind is 'Group'",
        "Forbidden spec.rules[0].subjects[0].user: user is forbidden when subject kind is not " +
          "'User'",
        "Required spec.rules[0]: at least one of resourceRules and nonResourceRules has to be " +
          "non-empty",
      ],
    ],
    [urls("/", "/a/*"), []],
    [urls("/a*"), [`Invalid ${url}[0] = "/a*": wildcard can only do suffix matching`]],
    [
      urls("*", "/a"),
      [`Invalid ${url} = ["*","/a"]: if '*' is present, must not specify other non-resource URLs`],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(complaints(spec), expected));
  }
  it("catch-all and exempt cannot change", () => {
    const [complaint = ""] = complaints({ matchingPrecedence: 9 }, "catch-all");
    assert.match(complaint, /^Invalid spec = {"PriorityLevelConfiguration":{"Name":"l"}/);
    assert.match(complaint, /spec of 'catch-all' must equal the fixed value$/);
  });
  it("prints whether its priority level is missing", () => {
    const { object } = created(flowSchema, { spec: level });
    assert.equal(flowSchema.row(object, { now: 0 })[5], "?");
    object.status = { conditions: [{ type: "Dangling", status: "False" }] };
    assert.deepEqual(flowSchema.row(object, { now: 0 }).slice(1, 4), ["l", 1000, "<none>"]);
    assert.equal(flowSchema.row(object, { now: 0 })[5], "False");
  });
});

describe("PriorityLevelConfiguration", () => {
  const limited = (rest: Sketch) => ({
    type: "Limited",
    limited: { limitResponse: { type: "Reject" }, ...rest },
  });
  const queuing = (queuing: Sketch) => limited({ limitResponse: { type: "Queue", queuing } });
  const make = (spec: Sketch, name = "x") =>
    created(priorityLevelConfiguration, { metadata: { name }, spec });
  const hand = "spec.limited.limitResponse.queuing.handSize";

  it("defaults numbers, but keeps shares of 0", () => {
    const { limited: filled } = make(queuing({})).object.spec;
    assert.equal(filled.nominalConcurrencyShares, 30);
    assert.deepEqual(filled.limitResponse.queuing, {
      queues: 64,
      handSize: 8,
      queueLengthLimit: 50,
    });
    const none = make(limited({ nominalConcurrencyShares: 0 }));
    assert.equal(none.object.spec.limited.nominalConcurrencyShares, 0);
  });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [limited({}), []],
    [
      { type: "Exempt" },
      [`Invalid spec.type = "Exempt": must be 'Exempt' if and only if \`name\` is 'exempt'`],
    ],
    [{ type: "Limited" }, ["Required spec.limited: must not be empty when type is Limited"]],
    [
      limited({ lendablePercent: 101 }),
      ["Invalid spec.limited.lendablePercent = 101: must be between 0 and 100, inclusive"],
    ],
    [queuing({ queues: 512, handSize: 6 }), []],
    [
      queuing({ queues: 512 }),
      [
        `Invalid ${hand} = 8: required entropy bits of deckSize 512 and handSize 8 should not be ` +
          "greater than 60",
      ],
    ],
    [queuing({ queues: 4 }), [`Invalid ${hand} = 8: should not be greater than queues (4)`]],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(make(spec).complaints, expected));
  }
  it("named exempt must be Exempt, and may change its shares", () => {
    const old = make({ type: "Exempt" }, "exempt");
    assert.deepEqual(old.complaints, []);
    const spec = { type: "Exempt", exempt: { lendablePercent: 50 } };
    const write = { metadata: { name: "exempt" }, spec };
    assert.deepEqual(updated(priorityLevelConfiguration, old, write).complaints, []);
    assert.equal(make(limited({}), "exempt").complaints.length, 2);
  });
});
