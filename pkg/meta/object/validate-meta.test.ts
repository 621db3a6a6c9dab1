import assert from "node:assert/strict";
import { Path, Problems } from "#schema";
import type { ObjectMeta } from "./object-meta.ts";
import { invalid, problemText } from "../status/status-errors.ts";
import { checkManager, checkObjectMeta, checkObjectMetaUpdate } from "./validate-meta.ts";

const path = Path.of("metadata");

function lines(problems: Problems): string[] {
  return problems.list.map((problem) => `${problem.field}: ${problemText(problem)}`);
}

function created(meta: ObjectMeta, namespaced = true): string[] {
  const problems = new Problems();
  checkObjectMeta(meta, { namespaced, name: "dns-subdomain" }, path, problems);
  return lines(problems).map((line) => line.split(" (e.g.")[0] ?? "");
}

function changed(meta: ObjectMeta, old: ObjectMeta): string[] {
  const problems = new Problems();
  checkObjectMetaUpdate(meta, old, path, problems);
  return lines(problems);
}

const good: ObjectMeta = { name: "a", namespace: "n" };
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u1" };
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or " +
  "'.', and must start and end with an alphanumeric character";

describe("checkObjectMeta", () => {
  const rows: readonly (readonly [string, ObjectMeta, ...string[]])[] = [
    ["nothing wrong", good],
    [
      "no name",
      { namespace: "n" },
      "metadata.name: Required value: name or generateName is required",
    ],
    ["bad name", { ...good, name: "A" }, `metadata.name: Invalid value: "A": ${subdomain}`],
    [
      "bad prefix",
      { ...good, generateName: "g." },
      `metadata.generateName: Invalid value: "g.": ${subdomain}`,
    ],
    ["no namespace", { name: "a" }, "metadata.namespace: Required value"],
    [
      "negative generation",
      { ...good, generation: -1 },
      "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      "annotations too big",
      { ...good, annotations: { k: "x".repeat(262_144) } },
      "metadata.annotations: Too long: may not be more than 262144 bytes",
    ],
    ["annotations at the limit", { ...good, annotations: { k: "x".repeat(262_143) } }],
    [
      "owner without anything",
      { ...good, ownerReferences: [{ apiVersion: "a/b/c", kind: "", name: "", uid: "" }] },
      'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
    [
      "an event as owner",
      { ...good, ownerReferences: [{ ...owner, kind: "Event" }] },
      'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o",' +
        '"uid":"u1"}: /v1, Kind=Event is disallowed from being an owner',
    ],
    [
      "finalizers",
      { ...good, finalizers: ["noslash", "orphan", "foregroundDeletion"] },
      'metadata.finalizers: Invalid value: ["noslash","orphan","foregroundDeletion"]: ' +
        "finalizer orphan and foregroundDeletion cannot be both set",
      'metadata.finalizers[0]: Invalid value: "noslash": ' +
        "name is neither a standard finalizer name nor is it fully qualified",
    ],
  ];
  for (const [title, meta, ...expected] of rows) {
    it(title, () => assert.deepEqual(created(meta), expected));
  }

  it("rejects two controller references", () => {
    const two = [
      { ...owner, controller: true },
      { ...owner, name: "p", uid: "u2", controller: true },
    ];
    const [line = ""] = created({ ...good, ownerReferences: two });
    assert.match(line, /Only one reference .* references for ConfigMap\/o and ConfigMap\/p$/);
  });

  it("rejects a namespace of a cluster-scoped object", () => {
    const expected = ["metadata.namespace: Forbidden: not allowed on this type"];
    assert.deepEqual(created(good, false), expected);
  });

  it("rejects long and unprintable field managers", () => {
    const problems = new Problems();
    checkManager("a\u0001b", Path.of("fieldManager"), problems);
    checkManager("m".repeat(129), Path.of("fieldManager"), problems);
    assert.deepEqual(lines(problems), [
      'fieldManager: Invalid value: "a\\x01b": invalid character U+0001 (at position 1)',
      "fieldManager: Too long: may not be more than 128 bytes",
    ]);
  });
});

describe("checkObjectMetaUpdate", () => {
  const old: ObjectMeta = { ...good, uid: "u", resourceVersion: "5", generation: 3 };

  it("accepts an unchanged object", () => assert.deepEqual(changed(old, old), []));

  it("requires a resourceVersion, and the same name and UID", () => {
    const meta: ObjectMeta = { name: "b", namespace: "n", uid: "v", generation: 2 };
    assert.deepEqual(changed(meta, old), [
      'metadata.resourceVersion: Invalid value: "": must be specified for an update',
      "metadata.generation: Invalid value: 2: must not be decremented",
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.uid: Invalid value: "v": field is immutable',
    ]);
  });

  it("rejects changes of deletionTimestamp", () => {
    const time = "2024-01-01T00:00:00Z";
    const deleting = { ...old, deletionTimestamp: time, deletionGracePeriodSeconds: 0 };
    assert.deepEqual(changed(deleting, old), [
      `metadata.deletionTimestamp: Invalid value: "${time}": field is immutable`,
      "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
    ]);
    assert.deepEqual(changed(old, deleting), [
      "metadata.deletionTimestamp: Invalid value: null: field is immutable",
      "metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable",
    ]);
  });

  it("rejects new finalizers of a terminating object", () => {
    const deleting = { ...old, deletionTimestamp: "2024-01-01T00:00:00Z", finalizers: ["x/a"] };
    assert.deepEqual(changed({ ...deleting, finalizers: ["x/c", "x/a", "x/b"] }, deleting), [
      "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being " +
        'deleted, found new finalizers []string{"x/b", "x/c"}',
    ]);
    assert.deepEqual(changed({ ...deleting, finalizers: [] }, deleting), []);
  });
});

describe("invalid", () => {
  it("lists every cause, and each text once in the message", () => {
    const problems = new Problems();
    problems.invalid(Path.of("spec.a"), "x\n<", "bad");
    problems.invalid(Path.of("spec.a"), "x\n<", "bad");
    problems.invalid(Path.root, undefined, "whole");
    problems.notSupported(Path.of("spec.b"), ["<"], ["B", "A"]);
    problems.tooMany(Path.of("spec.c"), 33, 32);
    const { status } = invalid({ group: "apps", kind: "Deployment" }, "d", problems);
    assert.equal(
      status.message,
      'Deployment.apps "d" is invalid: [spec.a: Invalid value: "x\\n<": bad, ' +
        "<nil>: Invalid value: null: whole, " +
        'spec.b: Unsupported value: ["\\u003c"]: supported values: "A", "B", ' +
        "spec.c: Too many: 33: must have at most 32 items]",
    );
    assert.equal(status.details?.causes?.length, 5);
    assert.equal(status.code, 422);
  });

  it("limits the number and length of causes", () => {
    const causes = (count: number, value: string) => {
      const problems = new Problems();
      for (let index = 0; index < count; index++) problems.invalid(Path.root, value, `${index}`);
      const { status } = invalid({ group: "", kind: "ConfigMap" }, "c", problems);
      return status.details?.causes?.length;
    };
    assert.equal(causes(1_001, "short"), 1_000);
    assert.equal(causes(9, "x".repeat(1024 * 1024)), 3);
    assert.equal(causes(9, "x".repeat(5 * 1024 * 1024)), 1);
  });

  it("has no brackets for one cause", () => {
    const problems = new Problems();
    problems.required(Path.of("metadata.name"), "name or generateName is required");
    const { status } = invalid({ group: "", kind: "ConfigMap" }, "", problems);
    assert.equal(
      status.message,
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    );
    assert.deepEqual(Object.keys(status.details ?? {}), ["kind", "causes"]);
  });
});
