import assert from "node:assert/strict";
import { builtinKinds, bootstrapObjects, humanDuration } from "#api";
import { arbitrary, fromJson, fromProtobuf, parseJson, toJson, toProtobuf } from "#schema";
import { Catalog, kubernetes } from "#meta";
import { seededRandom } from "#base";
import { leaseCandidate } from "./coordination/lease-candidate.ts";
import { lease } from "./coordination/lease.ts";
import { checkAddress } from "./networking/ip.ts";
import { ipAddress } from "./networking/ip-address.ts";
import { priorityClass } from "./scheduling/priority-class.ts";
import { created, updated } from "./testing.ts";

const catalog = new Catalog(builtinKinds, kubernetes, () => true);

/**
 * Fields whose values the stored version does not distinguish become equal on the first conversion.
 */
const changedOnce = new Set([
  "autoscaling/v1 HorizontalPodAutoscaler",
  "resource.k8s.io/v1beta1 ResourceSlice",
]);

/** Numbers of columns with the format `name`, where it is not one. */
const nameColumns = new Map([
  ["storage.k8s.io/v1 VolumeAttachment", 2],
  ["storagemigration.k8s.io/v1alpha1 StorageVersionMigration", 0],
]);

describe("every kind", () => {
  for (const resource of catalog.resources) {
    const { struct, kind, served } = resource;
    const title = `${resource.groupVersion} ${kind.kind}`;
    const isChanged = changedOnce.has(title);
    it(`${title} round-trips through JSON, Protobuf and conversion`, () => {
      const random = seededRandom(7);
      for (let i = 0; i < 20; i++) {
        const object = arbitrary(struct, random);
        const json = toJson(struct, object);
        assert.equal(toJson(struct, fromJson(struct, parseJson(json).value)), json);
        const bytes = toProtobuf(struct, object);
        assert.deepEqual(toProtobuf(struct, fromProtobuf(struct, bytes)), bytes);
        if (served.convert === "hub") continue;
        const { up, down } = served.convert;
        const trip = (text: string) =>
          toJson(struct, down(up(fromJson(struct, parseJson(text).value))));
        const again = trip(json);
        assert.equal(isChanged ? trip(again) : again, isChanged ? again : json);
      }
    });
    it(`${title} prints as many cells as it has columns`, () => {
      const object = fromJson(resource.hub.struct, { metadata: { name: "x" } });
      const extra = kind.kind === "IPAddress" ? 1 : 0;
      assert.equal(kind.row(object, { now: 0 }).length, kind.columns.length + extra);
      const names = kind.columns.filter(({ format }) => format === "name").length;
      assert.equal(names, nameColumns.get(title) ?? 1);
      for (const select of Object.values(kind.selectableFields)) {
        assert.equal(typeof select(object), "string");
      }
    });
  }

  it("is served under unique names", () => {
    const names = catalog.resources.map((r) => `${r.groupVersion}/${r.plural}`);
    assert.equal(new Set(names).size, names.length);
  });
});

describe("bootstrap objects", () => {
  it("are valid", () => {
    for (const { kind, object } of bootstrapObjects) {
      assert.deepEqual(created(kind, object).complaints, []);
    }
  });
});

describe("Lease", () => {
  const spec = { leaseDurationSeconds: 0, leaseTransitions: -1 };
  const coordinated = { strategy: "Newest", preferredHolder: "b" };
  const gates = ["CoordinatedLeaderElection"];

  it("requires positive numbers", () => {
    assert.deepEqual(created(lease, { spec }).complaints, [
      "Invalid spec.leaseDurationSeconds = 0: must be greater than 0",
      "Invalid spec.leaseTransitions = -1: must be greater than or equal to 0",
    ]);
  });
  it("drops fields of coordinated leader election if its gate is disabled", () => {
    assert.deepEqual(created(lease, { spec: coordinated }).object.spec, {});
    assert.deepEqual(created(lease, { spec: coordinated }, { gates }).complaints, [
      'NotSupported spec.strategy.strategy = "Newest": supported values: "OldestEmulationVersion"',
    ]);
    const alone = { spec: { preferredHolder: "b" } };
    assert.deepEqual(created(lease, alone, { gates }).complaints, [
      "Forbidden spec.preferredHolder: may only be specified if `strategy` is defined",
    ]);
  });
  it("keeps existing fields of coordinated leader election", () => {
    const good = { spec: { strategy: "OldestEmulationVersion", preferredHolder: "b" } };
    const old = created(lease, good, { gates });
    assert.equal(updated(lease, old, good).object.spec.preferredHolder, "b");
  });
});

describe("LeaseCandidate", () => {
  const versions = { binaryVersion: "1.34.0", emulationVersion: "1.33.0" };
  const good = { leaseName: "l", ...versions, strategy: "OldestEmulationVersion" };
  const complaints = (spec: Readonly<Record<string, unknown>>) =>
    created(leaseCandidate, { spec: { ...good, ...spec } }).complaints;
  const older = "must be greater than or equal to `emulationVersion`";
  const needed = "must be specified when `strategy` is 'OldestEmulationVersion'";

  it("rejects an emulationVersion above binaryVersion", () => {
    assert.deepEqual(complaints({}), []);
    assert.deepEqual(complaints({ binaryVersion: "1.34.0-rc.1", emulationVersion: "1.34.0" }), [
      `Invalid spec.binaryVersion = "1.34.0-rc.1": ${older}`,
    ]);
    assert.deepEqual(
      complaints({ binaryVersion: "1.35.0-alpha.1+abc", emulationVersion: "1.34.9" }),
      [],
    );
  });
  it("reports missing fields", () => {
    assert.deepEqual(created(leaseCandidate, {}).complaints, [
      "Required spec.leaseName",
      "Required spec.binaryVersion",
      "Required spec.strategy",
    ]);
    assert.deepEqual(complaints({ emulationVersion: "one" }), [
      'Invalid spec.emulationVersion = "one": must be a valid semantic version',
      `Required spec.emulationVersion: ${needed}`,
    ]);
  });
  it("rejects changes of leaseName", () => {
    const old = created(leaseCandidate, { spec: good });
    const spec = { ...good, leaseName: "", binaryVersion: "1" };
    assert.deepEqual(updated(leaseCandidate, old, { spec }).complaints, [
      "Required spec.leaseName",
      'Invalid spec.binaryVersion = "1": must be a valid semantic version',
      `Invalid spec.binaryVersion = "1": ${older}`,
      'Invalid spec.leaseName = "": field is immutable',
    ]);
  });
});

describe("IPAddress", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["10.9.8.7", ""],
    ["2001:db8::1", ""],
    ["::", ""],
    ["1::", ""],
    ["10.01.2.3", "must not have leading 0s"],
    ["2001:db8:0:0:0::1", 'must be in canonical form ("2001:db8::1")'],
    ["2001:DB8::1", 'must be in canonical form ("2001:db8::1")'],
    ["1:0:0:2:0:0:0:3", 'must be in canonical form ("1:0:0:2::3")'],
    ["::ffff:192.0.2.1", "must not be an IPv4-mapped IPv6 address"],
    ["::1.2.3.4", 'must be in canonical form ("::102:304")'],
    ["1::2::3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
    ["fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
    ["10.9.8", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
    ["10.9.8.256", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ];
  for (const [text, message] of rows) {
    it(text, () => assert.deepEqual(checkAddress(text), message === "" ? [] : [message]));
  }
  it("rejects changes of parentRef", () => {
    assert.deepEqual(created(ipAddress, {}).complaints, ["Required spec.parentRef"]);
    const parent = (name: string) => ({
      spec: { parentRef: { resource: "services", namespace: "a", name } },
    });
    const old = created(ipAddress, parent("s"));
    assert.equal(ipAddress.row(old.object, { now: 0 })[1], "services/a/s");
    assert.deepEqual(updated(ipAddress, old, parent("t")).complaints, [
      'Invalid spec.parentRef = {"Group":"","Resource":"services","Namespace":"a","Name":"t"}: ' +
        "field is immutable",
    ]);
  });
});

describe("PriorityClass", () => {
  const reserved =
    "priority class names with 'system-' prefix are reserved for system use only. error: ";
  const rows: readonly (readonly [Readonly<Record<string, unknown>>, readonly string[]])[] = [
    [{ value: 1_000_000_000 }, []],
    [
      { value: 1_000_000_001 },
      ["Forbidden value: maximum allowed value of a user defined priority is 1000000000"],
    ],
    [
      { metadata: { name: "system-x" } },
      [`Forbidden metadata.name: ${reserved}system-x is not a known system priority class`],
    ],
    [
      { metadata: { name: "system-node-critical" }, value: 5 },
      [
        `Forbidden metadata.name: ${reserved}value of system-node-critical PriorityClass must be ` +
          "2000001000",
      ],
    ],
    [
      { preemptionPolicy: "Sometimes" },
      [
        'NotSupported preemptionPolicy = "Sometimes": supported values: "PreemptLowerPriority", ' +
          '"Never"',
      ],
    ],
    [{ preemptionPolicy: "" }, ["Required preemptionPolicy"]],
  ];
  for (const [sketch, complaints] of rows) {
    it(JSON.stringify(sketch), () =>
      assert.deepEqual(created(priorityClass, sketch).complaints, complaints),
    );
  }
  it("rejects changes of value and preemptionPolicy", () => {
    const old = created(priorityClass, { value: 5 });
    assert.equal(old.object.preemptionPolicy, "PreemptLowerPriority");
    const { object, complaints } = updated(priorityClass, old, { preemptionPolicy: "Never" });
    assert.equal(object.metadata.generation, 1);
    assert.deepEqual(complaints, [
      "Forbidden value: may not be changed in an update.",
      'Invalid preemptionPolicy = "Never": field is immutable',
    ]);
  });
});

describe("humanDuration", () => {
  const second = 1000;
  const hour = 3600 * second;
  const day = 24 * hour;
  const rows: readonly (readonly [number, string])[] = [
    [-2 * second, "<invalid>"],
    [-1 * second, "0s"],
    [119 * second, "119s"],
    [120 * second, "2m"],
    [599 * second, "9m59s"],
    [3 * hour - second, "179m"],
    [3 * hour, "3h"],
    [8 * hour - second, "7h59m"],
    [47 * hour, "47h"],
    [8 * day - second, "7d23h"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [(8 * 365 - 1) * day, "7y364d"],
    [8 * 365 * day, "8y"],
  ];
  for (const [duration, text] of rows) {
    it(text, () => assert.equal(humanDuration(duration), text));
  }
});
