/** Laws of allocation, checked against an oracle that tries every assignment. */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import type { AllocationResult, Device, DeviceClass, ResourceClaim, ResourceSlice } from "#kinds";
import { DeviceSelectors } from "../device-selectors.ts";
import { Allocator } from "./allocator.ts";
import { AllocatedState, type AllocatorFeatures } from "./state.ts";

const driver = "gpu.example.com";
const all: AllocatorFeatures = {
  adminAccess: true,
  prioritizedList: true,
  partitionableDevices: true,
  deviceTaints: true,
  consumableCapacity: true,
};
const node = { metadata: { name: "n", uid: "n", resourceVersion: "1" } };

function meta(name: string, namespace = "") {
  return { name, uid: name, resourceVersion: "1", ...(namespace === "" ? {} : { namespace }) };
}

function slice(devices: readonly Device[], more: any = {}): ResourceSlice {
  const { pool = {}, name = "s", ...spec } = more;
  return {
    metadata: meta(name),
    spec: {
      driver,
      pool: { name: "p", generation: 1, resourceSliceCount: 1, ...pool },
      nodeName: "n",
      devices,
      ...spec,
    },
  };
}

function claim(name: string, devices: ResourceClaim["spec"]["devices"]): ResourceClaim {
  return { metadata: meta(name, "ns"), spec: { devices: devices! } };
}

const request = (name: string, more: any = {}) => ({
  name,
  exactly: { deviceClassName: "gpu", ...more },
});
const selector = (expression: string) => ({ selectors: [{ cel: { expression } }] });

interface Setting {
  readonly slices: readonly ResourceSlice[];
  readonly claims: readonly ResourceClaim[];
  readonly features?: Partial<AllocatorFeatures>;
  readonly allocated?: readonly AllocationResult[];
  readonly deviceClass?: DeviceClass["spec"];
}

/** The allocations, and how often the search paused. */
function allocateIn({ slices, claims, features, allocated = [], deviceClass = {} }: Setting) {
  const state = new AllocatedState();
  for (const each of allocated) state.add(each);
  const allocator = new Allocator({
    features: { ...all, ...features },
    allocated: state,
    selectors: new DeviceSelectors(),
    classOf: (name) => (name === "gpu" ? { metadata: meta("gpu"), spec: deviceClass } : undefined),
    slicesFor: () => slices,
    nodeMatches: () => true,
    newShareId: () => "share",
  });
  const search = allocator.allocate(node, claims);
  let pauses = 0;
  for (;;) {
    const { done, value } = search.next();
    if (done === true) return { value, pauses };
    pauses++;
    assert.ok(pauses < 2_000, "the search does not end");
  }
}

function devicesOf(setting: Setting): string[] | undefined {
  const { value } = allocateIn(setting);
  return value?.flatMap(({ devices }) =>
    (devices?.results ?? []).map((each) => `${each.request}=${each.device}`),
  );
}

/** Devices with a model, a socket and counters that two of them may share. */
function randomDevices(random: Random): Device[] {
  return Array.from({ length: 1 + random.below(6) }, (_, at) => {
    const taints = random.below(5) === 0 ? [{ key: "broken", effect: "NoSchedule" }] : [];
    const counters = { memory: { value: String(1 + random.below(3)) } };
    return {
      name: `d${at}`,
      attributes: {
        model: { string: random.pick(["a", "b"]) },
        ...(random.below(6) === 0 ? {} : { socket: { int: random.below(2) } }),
      },
      taints,
      ...(random.below(3) === 0 ? { consumesCounters: [{ counterSet: "c", counters }] } : {}),
    };
  });
}

function randomRequest(random: Random, name: string) {
  const chosen = random.pick(["a", "b", ""]);
  const models =
    chosen === "" ? {} : selector(`device.attributes["${driver}"].model == "${chosen}"`);
  const tolerations = random.below(3) === 0 ? [{ key: "broken", operator: "Exists" }] : [];
  return request(name, { ...models, count: 1 + random.below(3), tolerations });
}

/** Whether any assignment of devices keeps all rules; tries all of them. */
function isFeasible(devices: readonly Device[], claims: readonly ResourceClaim[], memory: number) {
  const needs = claims.flatMap(({ spec }, at) =>
    (spec.devices!.requests ?? []).flatMap(({ exactly, name }) =>
      Array.from({ length: Number(exactly!.count) }, () => ({ exactly: exactly!, at, name })),
    ),
  );
  const model = (each: (typeof needs)[number]) =>
    /"([ab])"$/.exec(each.exactly.selectors?.[0]?.cel?.expression ?? "")?.[1];
  const taken: number[] = [];
  const isKept = () => {
    const used = taken.reduce((sum, position) => {
      const [consumed] = devices[position]!.consumesCounters ?? [];
      return sum + Number(consumed?.counters?.["memory"]?.value ?? 0);
    }, 0);
    const isSame = claims.every((own, at) => {
      if ((own.spec.devices!.constraints ?? []).length === 0) return true;
      const sockets = taken
        .filter((_, need) => needs[need]!.at === at)
        .map((position) => devices[position]!.attributes!["socket"]?.int);
      return sockets.every((socket) => socket !== undefined && socket === sockets[0]);
    });
    return used <= memory && isSame;
  };
  const place = (need: number): boolean => {
    if (need === needs.length) return isKept();
    return devices.some((device, position) => {
      const wanted = model(needs[need]!);
      if (wanted !== undefined && device.attributes!["model"]!.string !== wanted) return false;
      if (taken.includes(position)) return false;
      const isTainted = (device.taints ?? []).length > 0;
      if (isTainted && (needs[need]!.exactly.tolerations ?? []).length === 0) return false;
      taken.push(position);
      const found = place(need + 1);
      if (!found) taken.pop();
      return found;
    });
  };
  return place(0);
}

describe("Allocator", () => {
  it("finds a solution exactly if there is one, and none that violates a rule", () => {
    const random = seededRandom(7);
    let found = 0;
    for (let round = 0; round < 600; round++) {
      const devices = randomDevices(random);
      const memory = 2 + random.below(4);
      const counters = { memory: { value: String(memory) } };
      const slices = [slice(devices, { sharedCounters: [{ name: "c", counters }] })];
      const claims = Array.from({ length: 1 + random.below(2) }, (_, at) =>
        claim(`c${at}`, {
          requests: Array.from({ length: 1 + random.below(2) }, (_own, index) =>
            randomRequest(random, `r${index}`),
          ),
          constraints: random.below(2) === 0 ? [{ matchAttribute: `${driver}/socket` }] : [],
        }),
      );
      const { value } = allocateIn({ slices, claims });
      assert.equal(value !== undefined, isFeasible(devices, claims, memory), `round ${round}`);
      if (value === undefined) continue;
      found++;
      const names = value.flatMap(({ devices: own }) => own!.results!.map(({ device }) => device));
      assert.equal(new Set(names).size, names.length, "a device is used twice");
      const chosen = devices.filter(({ name }) => names.includes(name));
      // With the chosen devices alone the claims are feasible as well: each rule holds for them.
      assert.ok(isFeasible(chosen, claims, memory), `round ${round} breaks a rule`);
    }
    assert.ok(found > 100 && found < 500, `${found} of 600 are feasible`);
  });

  it("allocates the first devices in order", () => {
    const slices = [slice([{ name: "a" }, { name: "b" }, { name: "c" }])];
    const claims = [claim("c", { requests: [request("one"), request("two", { count: 2 })] })];
    assert.deepEqual(devicesOf({ slices, claims }), ["one=a", "two=b", "two=c"]);
  });

  it("ends early if there are too few devices", () => {
    const slices = [slice(Array.from({ length: 20 }, (_, at) => ({ name: `d${at}` })))];
    const requests = Array.from({ length: 21 }, (_, at) => request(`r${at}`));
    const { value, pauses } = allocateIn({ slices, claims: [claim("c", { requests })] });
    assert.equal(value, undefined);
    assert.ok(pauses < 100, `${pauses} pauses`);
  });

  it("does not allocate devices of other claims, except for admin access", () => {
    const slices = [slice([{ name: "a" }])];
    const held = { devices: { results: [{ request: "r", driver, pool: "p", device: "a" }] } };
    const wish = (more: any) => [claim("c", { requests: [request("r", more)] })];
    const allocated = [held];
    assert.equal(devicesOf({ slices, allocated, claims: wish({}) }), undefined);
    const admin = allocateIn({ slices, allocated, claims: wish({ adminAccess: true }) }).value;
    assert.equal(admin![0]!.devices!.results![0]!.adminAccess, true);
  });

  it("allocates all devices of complete pools only", () => {
    const claims = [claim("c", { requests: [request("r", { allocationMode: "All" })] })];
    const first = slice([{ name: "a" }], { pool: { resourceSliceCount: 2 } });
    const second = slice([{ name: "b" }], { pool: { resourceSliceCount: 2 }, name: "t" });
    assert.throws(() => devicesOf({ slices: [first], claims }), {
      message:
        `claim ns/c, request r: asks for all devices, but resource pool ${driver}/p is currently ` +
        "being updated",
    });
    assert.deepEqual(devicesOf({ slices: [first, second], claims }), ["r=a", "r=b"]);
    const newer = slice([{ name: "z" }], { pool: { generation: 2 }, name: "u" });
    assert.deepEqual(devicesOf({ slices: [first, second, newer], claims }), ["r=z"]);
  });

  it("rejects a pool that lists a device twice", () => {
    const claims = [claim("c", { requests: [request("r")] })];
    assert.throws(() => devicesOf({ slices: [slice([{ name: "a" }, { name: "a" }])], claims }), {
      message: "pool p is invalid: duplicate device name a",
    });
  });

  it("selects the first possible alternative within the device limit of a claim", () => {
    const devices = Array.from({ length: 40 }, (_, at) => ({ name: `d${at}` }));
    const alternative = (name: string, count: number) => ({ name, deviceClassName: "gpu", count });
    const firstAvailable = [
      alternative("many", 41),
      alternative("some", 31),
      alternative("few", 1),
    ];
    const requests = [{ name: "r", firstAvailable }, request("s", { count: 2 })];
    const found = devicesOf({ slices: [slice(devices)], claims: [claim("c", { requests })] });
    assert.deepEqual(found, ["r/few=d0", "s=d1", "s=d2"]);
    const features = { prioritizedList: false };
    const setting = { slices: [slice(devices)], claims: [claim("c", { requests })], features };
    assert.throws(() => devicesOf(setting), {
      message:
        "claim ns/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
    });
  });

  it("allocates devices with distinct values for distinctAttribute", () => {
    const on = (name: string, socket: number) => ({
      name,
      attributes: { socket: { int: socket } },
    });
    const slices = [slice([on("a", 0), on("b", 0), on("c", 1)])];
    const constraints = [{ distinctAttribute: `${driver}/socket` }];
    const requests = [request("r", { count: 2 })];
    const claims = [claim("c", { requests, constraints })];
    assert.deepEqual(devicesOf({ slices, claims }), ["r=a", "r=c"]);
  });

  it("shares a device until its capacity is exhausted", () => {
    const device: Device = {
      name: "a",
      allowMultipleAllocations: true,
      capacity: { memory: { value: "10Gi", requestPolicy: { validValues: ["2Gi", "4Gi"] } } },
    };
    const wish = { capacity: { requests: { memory: "3Gi" } } };
    const claims = ["c", "d"].map((name) => claim(name, { requests: [request("r", wish)] }));
    const setting = { slices: [slice([device])], claims };
    const { value } = allocateIn(setting);
    assert.deepEqual(
      value!.map(({ devices }) => devices!.results![0]!.consumedCapacity),
      [{ memory: "4Gi" }, { memory: "4Gi" }],
    );
    assert.equal(devicesOf({ ...setting, allocated: value! }), undefined);
  });

  it("names the claim or class of a selector that fails", () => {
    const slices = [slice([{ name: "a", attributes: { model: { string: "a" } } }])];
    const missing = selector(`device.attributes["${driver}"].size > 1`);
    const claims = [claim("c", { requests: [request("r", missing)] })];
    assert.throws(() => devicesOf({ slices, claims }), {
      message: "claim ns/c: selector #0: CEL runtime error: no such key: size",
    });
    // A domain that the device does not have is empty.
    const other = selector(`"x.example.com" in device.attributes || device.driver != "${driver}"`);
    const none = [claim("c", { requests: [request("r", other)] })];
    assert.equal(devicesOf({ slices, claims: none }), undefined);
    const deviceClass = selector("device.attributes['x.example.com'].y");
    const plain = [claim("c", { requests: [request("r")] })];
    assert.throws(() => devicesOf({ slices, claims: plain, deviceClass }), {
      message: "class gpu: selector #0: CEL runtime error: no such key: y",
    });
  });

  it("copies configurations of class and claim, and restricts the claim to its nodes", () => {
    const parameters = (name: string) => ({ opaque: { driver, parameters: { name } } });
    const slices = [slice([{ name: "a" }, { name: "b" }])];
    const claims = [
      claim("c", {
        requests: [request("r"), request("s")],
        config: [{ requests: ["s"], ...parameters("own") }, parameters("each")],
      }),
    ];
    const deviceClass = { config: [parameters("class")] };
    const [result] = allocateIn({ slices, claims, deviceClass }).value!;
    assert.deepEqual(result!.devices!.config, [
      { source: "FromClass", requests: ["r", "s"], ...parameters("class") },
      { source: "FromClaim", requests: ["s"], ...parameters("own") },
      { source: "FromClaim", ...parameters("each") },
    ]);
    const matchFields = [{ key: "metadata.name", operator: "In", values: ["n"] }];
    assert.deepEqual(result!.nodeSelector, { nodeSelectorTerms: [{ matchFields }] });
  });
});
