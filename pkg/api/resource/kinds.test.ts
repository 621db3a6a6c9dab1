import assert from "node:assert/strict";
import { created, type Sketch, updated, type Write } from "../testing.ts";
import { deviceClass } from "./device-class.ts";
import { deviceTaintRule } from "./device-taint-rule.ts";
import { resourceClaim } from "./claim/resource-claim.ts";
import { resourceClaimTemplate } from "./claim/resource-claim-template.ts";
import { resourceSlice } from "./slice/resource-slice.ts";

const gates = ["DRAPrioritizedList", "DRAResourceClaimDeviceStatus"];
const exactly = { deviceClassName: "c" };
const requests = [
  { name: "r", exactly },
  { name: "s", firstAvailable: [ways("a"), ways("b")] },
];

function ways(name: string): Sketch {
  return { name, deviceClassName: "c" };
}

const claim = (devices: Sketch, write?: Write) =>
  created(resourceClaim, { spec: { devices: { requests, ...devices } } }, { gates, ...write });

describe("ResourceClaim", () => {
  it("defaults to a count of one device", () => {
    const { object, complaints } = claim({});
    assert.deepEqual(complaints, []);
    const [first, second] = object.spec.devices.requests;
    assert.deepEqual(first.exactly, { ...exactly, allocationMode: "ExactCount", count: 1 });
    assert.equal(second.firstAvailable[1].count, 1);
  });

  it("validates both exactly and firstAvailable if both are set", () => {
    const bad = { name: "r", exactly: { deviceClassName: "C" }, firstAvailable: [ways("B")] };
    const places = claim({ requests: [bad] }).complaints.map((text) => text.split(" ")[1]);
    assert.deepEqual(places, [
      "spec.devices.requests[0].firstAvailable[0].name",
      "spec.devices.requests[0].exactly.deviceClassName",
      "spec.devices.requests[0]",
    ]);
  });

  it("requires exactly one of exactly and firstAvailable", () => {
    const detail = "exactly one of `exactly` or `firstAvailable` is required";
    assert.deepEqual(
      claim({ requests: [{ name: "r" }, { name: "r", exactly, firstAvailable: [ways("a")] }] })
        .complaints,
      [
        `Required spec.devices.requests[0]: ${detail}`,
        `Invalid spec.devices.requests[1] = null: ${detail}, but multiple fields are set`,
        'Duplicate spec.devices.requests[1].name = "r"',
      ],
    );
    const all = { deviceClassName: "c", allocationMode: "All", count: 2 };
    assert.deepEqual(claim({ requests: [{ name: "r", exactly: all }] }).complaints, [
      "Invalid spec.devices.requests[0].exactly.count = 2: " +
        "must not be specified when allocationMode is 'All'",
    ]);
  });

  it("rejects references to missing requests", () => {
    const detail =
      "must be the name of a request in the claim " +
      "or the name of a request and a subrequest separated by '/'";
    const constraint = { matchAttribute: "e.com/numa", requests: ["r", "s/b", "s/c", "r/a", "s"] };
    assert.deepEqual(claim({ constraints: [constraint] }).complaints, [
      `Invalid spec.devices.constraints[0].requests[2] = "s/c": ${detail}`,
      `Invalid spec.devices.constraints[0].requests[3] = "r/a": ${detail}`,
    ]);
  });

  it("has flat requests in v1beta1", () => {
    const flat = [{ name: "r", ...exactly, selectors: [{ cel: { expression: "true" } }] }];
    const { object, complaints } = claim({ requests: flat }, { version: "v1beta1" });
    assert.deepEqual(complaints, []);
    const [{ name, exactly: asked }] = object.spec.devices.requests;
    assert.deepEqual([name, asked.deviceClassName, asked.count], ["r", "c", 1]);
    const beta = resourceClaim.versions.find(({ version }) => version === "v1beta1");
    assert.ok(beta !== undefined && beta.convert !== "hub");
    const [down] = beta.convert.down(object).spec.devices.requests;
    assert.deepEqual(down, { ...flat[0], allocationMode: "ExactCount", count: 1 });
  });

  const device = { driver: "d.com", pool: "p/q", device: "dev" };
  const status = { subresource: "status", gates };
  const withStatus = (now: Sketch) => ({ spec: { devices: { requests } }, status: now });
  const allocation = { devices: { results: [{ request: "s/a", ...device }] } };

  it("can be reserved only while allocated, once per consumer", () => {
    const old = claim({});
    const user = { resource: "pods", name: "p", uid: "u" };
    const complaints = (now: Sketch) =>
      updated(resourceClaim, old, withStatus(now), status).complaints;
    assert.deepEqual(complaints({ allocation, reservedFor: [user] }), []);
    assert.deepEqual(complaints({ reservedFor: [user] }), [
      "Forbidden status.reservedFor: may not be specified when `allocated` is not set",
    ]);
    assert.deepEqual(complaints({ allocation, reservedFor: [user, user] }), [
      'Duplicate status.reservedFor[1].uid = "u"',
    ]);
  });

  it("reports status of allocated devices only and drops it on deallocation", () => {
    const got = updated(resourceClaim, claim({}), withStatus({ allocation }), status);
    const networkData = { ips: ["192.0.2.1/24", "192.0.2.1"] };
    const devices = [{ ...device, data: { a: 1 }, networkData }];
    const told = updated(resourceClaim, got, withStatus({ allocation, devices }), status);
    assert.deepEqual(told.complaints, [
      'Invalid status.devices[0].networkData.ips[1] = "192.0.2.1": ' +
        "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
    ]);
    const after = updated(resourceClaim, told, withStatus({ devices }), status);
    assert.deepEqual([after.object.status, after.complaints], [{}, []]);
  });

  it("has an immutable spec", () => {
    const old = claim({});
    const other = { spec: { devices: { requests: [requests[0]] } } };
    assert.match(
      updated(resourceClaim, old, other).complaints.join("\n"),
      /^Invalid spec = \{"Devices":\{"Requests":\[\{"Name":"r",.*: field is immutable$/,
    );
  });
});

describe("ResourceClaimTemplate", () => {
  it("allows only labels and annotations in its metadata", () => {
    const metadata = { labels: { a: "b" }, name: "x" };
    const spec = { metadata, spec: { devices: { requests } } };
    assert.deepEqual(created(resourceClaimTemplate, { spec }, { gates }).complaints, [
      "Forbidden spec.metadata.name: cannot be set",
    ]);
  });
});

describe("DeviceClass", () => {
  it("rejects invalid selectors and those above the cost limit", () => {
    const faults = (expression: string) => {
      const spec = { selectors: [{ cel: { expression } }] };
      return created(deviceClass, { spec }).complaints.map((text) => text.split("\n")[0]);
    };
    const place = "spec.selectors[0].cel.expression";
    const memory = 'device.capacity["a.io"].memory.isGreaterThan(quantity("1Gi"))';
    assert.deepEqual(faults(memory), []);
    assert.deepEqual(faults('device.attributes["a.io"].shared'), []);
    assert.deepEqual(faults('cel.bind(a, device.attributes["a.io"], a.shared && a.fast)'), []);
    assert.deepEqual(faults("1"), [
      `Invalid ${place} = "1": must evaluate to bool or the unknown type, not int`,
    ]);
    assert.deepEqual(faults("device.pool"), [
      `Invalid ${place} = "device.pool": ` +
        "compilation failed: ERROR: <input>:1:7: undefined field 'pool'",
    ]);
    const loop = (inner: string) => `[1,2,3,4,5,6,7,8,9].all(x, ${inner})`;
    const dear = loop(loop(loop(loop(loop(loop("true"))))));
    assert.deepEqual(faults(dear), [`Forbidden ${place}: too complex, exceeds cost limit`]);
  });

  it("requires objects as driver parameters", () => {
    const config = [{ opaque: { driver: "D.com", parameters: [] } }, {}];
    assert.deepEqual(created(deviceClass, { spec: { config } }).complaints, [
      'Invalid spec.config[0].opaque.parameters = "<value omitted>": must be a valid JSON object',
      "Required spec.config[1].opaque",
    ]);
  });

  it("keeps extendedResourceName only while the feature gate is enabled", () => {
    const spec = { extendedResourceName: "nodomain" };
    assert.deepEqual(created(deviceClass, { spec }).object.spec, {});
    const gates = ["DRAExtendedResource"];
    assert.deepEqual(created(deviceClass, { spec }, { gates }).complaints, [
      'Invalid spec.extendedResourceName = "nodomain": must be a valid extended resource name',
    ]);
  });
});

describe("ResourceSlice", () => {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  const slice = (rest: Sketch, write?: Write) =>
    created(resourceSlice, { spec: { driver: "d.com", pool, nodeName: "n", ...rest } }, write);
  const withDevice = (device: Sketch, write?: Write) =>
    slice({ devices: [{ name: "dev", ...device }] }, write);

  it("requires exactly one node selection", () => {
    const detail =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    assert.deepEqual(slice({}).complaints, []);
    assert.deepEqual(slice({ allNodes: true }).complaints, [
      `Invalid spec = "{\`nodeName\`, \`allNodes\`}": ${detail}, but multiple fields are set`,
    ]);
    assert.deepEqual(slice({ nodeName: undefined }).complaints, [`Required spec: ${detail}`]);
  });

  it("requires exactly one value per attribute", () => {
    const both = { int: 1, bool: false };
    const attributes = { a: {}, b: both, c: { version: "v1" }, "x/": { int: 1 } };
    assert.deepEqual(withDevice({ attributes }).complaints, [
      "Required spec.devices[0].attributes[a]: exactly one value must be specified",
      'Invalid spec.devices[0].attributes[b] = {"IntValue":1,"BoolValue":false,' +
        '"StringValue":null,"VersionValue":null}: exactly one value must be specified',
      'Invalid spec.devices[0].attributes[c].version = "v1": ' +
        "must be a string compatible with semver.org spec 2.0.0",
      'Invalid spec.devices[0].attributes[x/] = "": the name must not be empty',
    ]);
  });

  it("validates request policies of capacity", () => {
    const write = { gates: ["DRAConsumableCapacity"] };
    const policy = { default: "3", validRange: { min: "2", max: "12", step: "4" } };
    const memory = { value: "10", requestPolicy: policy };
    const place = "spec.devices[0].capacity[memory].requestPolicy";
    const multiple = "value is not a multiple of a given step (4) from (2)";
    const complaints = (rest: Sketch) =>
      withDevice({ capacity: { memory }, ...rest }, write).complaints;
    assert.deepEqual(complaints({}), [`Forbidden ${place}: allowMultipleAllocations must be true`]);
    assert.deepEqual(complaints({ allowMultipleAllocations: true }), [
      `Invalid ${place}.validRange.max = "12": max is larger than capacity value: 10`,
      `Invalid ${place}.validRange.step = "3": ${multiple}`,
      `Invalid ${place}.validRange.step = "12": ${multiple}`,
    ]);
    const values = { value: "10", requestPolicy: { default: "1", validValues: ["4", "2", "11"] } };
    assert.deepEqual(complaints({ allowMultipleAllocations: true, capacity: { memory: values } }), [
      `Invalid ${place}.validValues[1] = "2": values must be sorted in ascending order`,
      `Invalid ${place}.validValues[2] = "11": option is larger than capacity value: 10`,
      `Invalid ${place}.validValues = "1": ` +
        "default value is not valid according to the requestPolicy",
    ]);
  });

  it("rejects consumption of missing counters", () => {
    const write = { gates: ["DRAPartitionableDevices"] };
    const sharedCounters = [{ name: "set", counters: { a: { value: "1" } } }];
    const consumesCounters = [
      { counterSet: "set", counters: { b: { value: "1" } } },
      { counterSet: "other", counters: {} },
    ];
    const devices = [{ name: "dev", consumesCounters }];
    const place = "spec.devices[0].consumesCounters";
    assert.deepEqual(slice({ sharedCounters, devices }, write).complaints, [
      `Required ${place}[1].counters`,
      `Invalid ${place}[0].counters = "b": ` +
        "must reference a counter defined in the ResourceSlice sharedCounters",
      `Invalid ${place}[1] = "other": ` +
        "must reference a counterSet defined in the ResourceSlice sharedCounters",
    ]);
    assert.deepEqual(slice({ sharedCounters, devices }).object.spec.devices, [{ name: "dev" }]);
  });

  it("rejects changes of driver, pool and node", () => {
    const moved = { driver: "e.com", pool: { ...pool, name: "q" }, nodeName: "m" };
    assert.deepEqual(updated(resourceSlice, slice({}), { spec: moved }).complaints, [
      'Invalid spec.pool.name = "q": field is immutable',
      'Invalid spec.driver = "e.com": field is immutable',
      'Invalid spec.nodeName = "m": field is immutable',
    ]);
  });

  it("nests device properties in v1beta1", () => {
    const devices = [{ name: "dev", basic: { attributes: { a: { int: 1 } } } }];
    const { object } = slice({ devices }, { version: "v1beta1" });
    assert.deepEqual(object.spec.devices, [{ name: "dev", attributes: { a: { int: 1 } } }]);
  });
});

describe("DeviceTaintRule", () => {
  it("sets timeAdded of the taint", () => {
    const spec = { taint: { key: "a", effect: "NoSchedule" } };
    const { object, complaints } = created(deviceTaintRule, { spec });
    assert.deepEqual(complaints, []);
    assert.equal(object.spec.taint.timeAdded, "1970-01-01T00:00:00Z");
  });

  it("validates selector and taint", () => {
    const spec = { deviceSelector: { driver: "" }, taint: { key: "a", effect: "Never" } };
    assert.match(
      created(deviceTaintRule, { spec }).complaints.join("\n"),
      /^Required \S+driver\nInvalid \S+driver = "": .*\nNotSupported spec\.taint\.effect = "Never"/,
    );
  });
});
