import assert from "node:assert/strict";
import { domainOf } from "#meta";
import { parseRequestInfo, parseTarget, type User } from "#request";
import type { PriorityLevelSettings } from "../contract.ts";
import { FlowControlConfiguration } from "./flow-control-configuration.ts";
import type { PriorityLevelObject } from "./priority-level-settings.ts";

const pods = parseRequestInfo("GET", parseTarget("/api/v1/pods")!);
const admin: User = { name: "root", uid: "", groups: ["system:masters"], extra: new Map() };
const ada: User = { name: "ada", uid: "", groups: ["system:authenticated"], extra: new Map() };

const everywhere = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  clusterScope: true,
  namespaces: ["*"],
};

function schemaFor(name: string, level: string, subject = "ada") {
  const subjects = [{ kind: "User" as const, user: { name: subject } }];
  return {
    metadata: { name, uid: `uid-${name}` },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: 100,
      rules: [{ subjects, resourceRules: [everywhere] }],
    },
  };
}

function levelOf(name: string, limited: object = {}): PriorityLevelObject {
  const limitResponse = { type: "Reject" };
  const spec = { type: "Limited", limited: { limitResponse, ...limited } };
  return { metadata: { name, uid: `uid-${name}` }, spec } as PriorityLevelObject;
}

describe("flow control configuration", () => {
  let applied: (readonly PriorityLevelSettings[])[];
  let reports: string[];
  let later: (() => void)[];
  let configuration: FlowControlConfiguration;
  beforeEach(() => {
    [applied, reports, later] = [[], [], []];
    configuration = new FlowControlConfiguration({
      domain: domainOf(),
      dispatcher: { configure: (levels) => void applied.push(levels) },
      totalConcurrency: 600,
      report: (what) => void reports.push(what),
      defer: (work) => void later.push(work),
    });
  });
  const settle = () => {
    for (const work of later.splice(0)) work();
  };
  const levelsOf = (user: User) => {
    const flowSchema = configuration.classify(user, pods);
    const priorityLevel = configuration.levelOf(flowSchema);
    return `${flowSchema.metadata.name} ${priorityLevel.metadata.name}`;
  };

  it("has the mandatory objects while the store is empty", () => {
    assert.deepEqual(
      applied[0]?.map(({ name }) => name),
      ["exempt", "catch-all"],
    );
    assert.equal(levelsOf(admin), "exempt exempt");
    assert.equal(levelsOf(ada), "catch-all catch-all");
  });

  it("batches changes of levels and schemas", () => {
    configuration.flowSchemas.set(schemaFor("s", "own"));
    configuration.priorityLevels.set(levelOf("own", { nominalConcurrencyShares: 7 }));
    assert.equal(levelsOf(ada), "catch-all catch-all");
    settle();
    assert.equal(applied.length, 2);
    const own = applied[1]?.find(({ name }) => name === "own");
    assert.equal(own?.nominalConcurrencyShares, 7);
    assert.equal(levelsOf(ada), "s own");
    const flowSchema = configuration.classify(ada, pods);
    const priorityLevel = configuration.levelOf(flowSchema);
    assert.deepEqual([flowSchema.metadata.uid, priorityLevel.metadata.uid], ["uid-s", "uid-own"]);
  });

  it("ignores a schema while its level is missing", () => {
    configuration.flowSchemas.set(schemaFor("s", "own"));
    settle();
    assert.equal(levelsOf(ada), "catch-all catch-all");
    configuration.priorityLevels.set(levelOf("own"));
    settle();
    assert.equal(levelsOf(ada), "s own");
    configuration.priorityLevels.delete("own");
    settle();
    assert.equal(levelsOf(ada), "catch-all catch-all");
  });

  it("ignores changes of the status", () => {
    const schema = schemaFor("s", "own");
    configuration.flowSchemas.set(schema);
    settle();
    configuration.flowSchemas.set({ ...schema, status: { conditions: [] } } as typeof schema);
    assert.equal(later.length, 0);
  });

  it("ignores and reports levels with invalid specs", () => {
    const broken = [
      levelOf("unfit", {
        limitResponse: {
          type: "Queue",
          queuing: { queues: 4, handSize: 5, queueLengthLimit: 1 },
        },
      }),
      levelOf("negative", { nominalConcurrencyShares: -1 }),
      levelOf("queueless", { limitResponse: { type: "Queue" } }),
      { ...levelOf("typeless"), spec: { type: "Exempt" } } as PriorityLevelObject,
    ];
    for (const level of broken) {
      configuration.priorityLevels.set(level);
      configuration.flowSchemas.set(schemaFor(level.metadata.name, level.metadata.name));
    }
    settle();
    assert.equal(applied.at(-1)?.length, 2);
    assert.equal(levelsOf(ada), "catch-all catch-all");
    assert.equal(reports.length, broken.length);
  });

  it("ignores stored specs of mandatory objects", () => {
    configuration.flowSchemas.set(schemaFor("exempt", "tiny", "mallory"));
    configuration.flowSchemas.set({ ...schemaFor("catch-all", "gone") });
    configuration.flowSchemas.set(schemaFor("usurper", "tiny", "root"));
    configuration.priorityLevels.set(levelOf("exempt"));
    configuration.priorityLevels.set(levelOf("catch-all", { nominalConcurrencyShares: 0 }));
    configuration.priorityLevels.set(levelOf("tiny", { nominalConcurrencyShares: 0 }));
    settle();
    assert.equal(levelsOf(admin), "exempt exempt");
    assert.equal(levelsOf(ada), "catch-all catch-all");
    assert.equal(configuration.classify(admin, pods).metadata.uid, "uid-exempt");
    const levels = applied.at(-1) ?? [];
    assert.equal(levels.find(({ name }) => name === "exempt")?.type, "Exempt");
    assert.equal(levels.find(({ name }) => name === "catch-all")?.nominalConcurrencyShares, 5);
  });

  it("reads shares and lendablePercent of the level exempt from the stored object", () => {
    const exempt = { nominalConcurrencyShares: 10, lendablePercent: 50 };
    const spec = { type: "Exempt", exempt } as PriorityLevelObject["spec"];
    configuration.priorityLevels.set({ metadata: { name: "exempt", uid: "x" }, spec });
    settle();
    const found = applied.at(-1)?.find(({ name }) => name === "exempt");
    assert.deepEqual([found?.nominalConcurrencyShares, found?.lendablePercent], [10, 50]);
  });
});
