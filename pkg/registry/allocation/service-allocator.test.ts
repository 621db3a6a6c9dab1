import assert from "node:assert/strict";
import { memoryBackend, objectStore } from "#storage";
import { refusal, type TestRegistry, testRegistry } from "../testing.ts";
import { PortSet } from "./port-set.ts";
import type { ServiceNetwork } from "../contract.ts";
const network: ServiceNetwork = {
  cidrs: ["10.0.0.0/24"],
  nodePorts: { first: 30_000, last: 32_767 },
};

const withNetwork = (changes: Partial<ServiceNetwork> = {}) =>
  testRegistry({ serviceNetwork: { ...network, ...changes } });

function service(name: string, spec: object = {}) {
  return { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
}

async function create(test: TestRegistry, name: string, spec: object = {}): Promise<any> {
  return (await test.post("v1/services/ns", service(name, spec))).item.object;
}

const addresses = (test: TestRegistry) => test.names("networking.k8s.io/v1/ipaddresses");

async function takenPorts(test: TestRegistry): Promise<number[]> {
  const { entry } = await test.store.get("/ranges/servicenodeports");
  const { range, data } = JSON.parse(Buffer.from(entry!.value).toString());
  return PortSet.stored(network.nodePorts, { range, data }).ports();
}

describe("service allocator", () => {
  it("gives an address and takes it back", async () => {
    const test = await withNetwork();
    const { spec } = await create(test, "a");
    assert.deepEqual(spec.clusterIPs, [spec.clusterIP]);
    assert.deepEqual(await addresses(test), [spec.clusterIP]);
    const { object } = await test.get(`networking.k8s.io/v1/ipaddresses//${spec.clusterIP}`);
    assert.deepEqual(object.spec.parentRef, { resource: "services", namespace: "ns", name: "a" });
    assert.equal(object.metadata.labels["ipaddress.kubernetes.io/ip-family"], "IPv4");
    await test.remove("v1/services/ns/a");
    assert.deepEqual(await addresses(test), []);
  });

  it("grants a given address once", async () => {
    const test = await withNetwork();
    await create(test, "a", { clusterIP: "10.0.0.5" });
    const again = test.post("v1/services/ns", service("b", { clusterIP: "10.0.0.5" }));
    assert.equal(
      await refusal(again),
      '422 Invalid Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: ' +
        "failed to allocate IP 10.0.0.5: provided IP is already allocated",
    );
    const outside = test.post("v1/services/ns", service("b", { clusterIP: "10.1.0.5" }));
    assert.match(await refusal(outside), /the provided network does not match the current range/);
  });

  it("takes nothing in a dry run, and nothing for what is refused", async () => {
    const test = await withNetwork();
    const { item } = await test.post("v1/services/ns", service("a", { type: "NodePort" }), {
      dryRun: true,
    });
    assert.ok(item.object.spec.clusterIP && item.object.spec.ports[0].nodePort);
    const wrong = { type: "NodePort", sessionAffinity: "Odd" };
    assert.match(await refusal(test.post("v1/services/ns", service("b", wrong))), /^422/);
    await create(test, "c", { clusterIP: "None" });
    assert.match(await refusal(test.post("v1/services/ns", service("c"))), /^409/);
    assert.deepEqual(await addresses(test), []);
    assert.deepEqual(await takenPorts(test), []);
  });

  it("gives node ports, one number for two protocols", async () => {
    const test = await withNetwork();
    const ports = [
      { name: "u", port: 53, protocol: "UDP" },
      { name: "t", port: 53, protocol: "TCP" },
      { name: "x", port: 80 },
    ];
    const { spec } = await create(test, "a", { type: "NodePort", ports });
    const numbers: number[] = spec.ports.map(({ nodePort }: any) => nodePort);
    assert.equal(numbers[0], numbers[1]);
    assert.notEqual(numbers[0], numbers[2]);
    assert.deepEqual(
      await takenPorts(test),
      [...new Set(numbers)].sort((a, b) => a - b),
    );
  });

  it("releases what a change of the service type no longer needs", async () => {
    const test = await withNetwork();
    const { spec } = await create(test, "a", {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
    });
    assert.equal((await takenPorts(test)).length, 2);
    await test.patch("v1/services/ns/a", { spec: { type: "ClusterIP" } });
    assert.deepEqual(await takenPorts(test), []);
    const { item } = await test.patch("v1/services/ns/a", { spec: { type: "NodePort" } });
    assert.equal(item.object.spec.clusterIP, spec.clusterIP);
    assert.deepEqual(await takenPorts(test), [item.object.spec.ports[0].nodePort]);
    const alias = { type: "ExternalName", externalName: "db.example.com" };
    await test.patch("v1/services/ns/a", { spec: alias });
    assert.deepEqual([await addresses(test), await takenPorts(test)], [[], []]);
  });

  it("gives a second family its own address and takes it back", async () => {
    const test = await withNetwork({ cidrs: ["10.0.0.0/24", "fd00:1::/112"] });
    const { spec } = await create(test, "a", { ipFamilyPolicy: "PreferDualStack" });
    assert.deepEqual(spec.ipFamilies, ["IPv4", "IPv6"]);
    assert.equal((await addresses(test)).length, 2);
    const { item } = await test.patch("v1/services/ns/a", {
      spec: { ipFamilyPolicy: "SingleStack" },
    });
    assert.deepEqual(item.object.spec.clusterIPs, [spec.clusterIP]);
    assert.deepEqual(await addresses(test), [spec.clusterIP]);
  });

  it("uses a network up and then says so", async () => {
    const test = await withNetwork({ cidrs: ["10.0.0.0/28"] });
    for (let n = 0; n < 14; n++) await create(test, `s${n}`);
    assert.equal(new Set(await addresses(test)).size, 14);
    assert.match(
      await refusal(test.post("v1/services/ns", service("more"))),
      /^500 .*failed to allocate a serviceIP: range is full/,
    );
  });

  it("gives 200 parallel writers on three replicas different addresses and ports", async () => {
    const store = objectStore(memoryBackend(), { root: "/registry" });
    const options = { store, serviceNetwork: network };
    const replicas = [
      await testRegistry({ ...options, seed: 1 }),
      await testRegistry({ ...options, seed: 1, namespaces: [] }),
      await testRegistry({ ...options, seed: 3, namespaces: [] }),
    ];
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        create(replicas[n % 3]!, `s${n}`, { type: "NodePort" }),
      ),
    );
    const ips = new Set(all.map(({ spec }) => spec.clusterIP));
    const ports = new Set(all.map(({ spec }) => spec.ports[0].nodePort));
    assert.deepEqual([ips.size, ports.size], [200, 200]);
    assert.deepEqual(new Set(await addresses(replicas[0]!)), ips);
    assert.deepEqual(new Set(await takenPorts(replicas[1]!)), ports);
  });
});

/** The answers of kube-apiserver 1.34.9: service of a dry run; its ports and address, or the message. */
describe("service allocator in a dry run", () => {
  const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
  const of = (...ports: (number | undefined)[]) =>
    ports.map((nodePort, index) => ({
      name: `p${index}`,
      port: 80 + index,
      ...(nodePort === undefined ? {} : { nodePort }),
    }));
  const rangeFault = (address: string): string =>
    `spec.clusterIPs: Invalid value: ["${address}"]: failed to allocate IP ${address}: ` +
    `the provided IP (${address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24`;
  const answers: readonly (readonly [title: string, spec: object, string])[] = [
    ["an address in use", { clusterIP: "10.0.0.5" }, "10.0.0.5"],
    ["an address of another network", { clusterIP: "10.1.0.5" }, rangeFault("10.1.0.5")],
    ["the network address", { clusterIP: "10.0.0.0" }, rangeFault("10.0.0.0")],
    ["the broadcast address", { clusterIP: "10.0.0.255" }, rangeFault("10.0.0.255")],
    ["no address", {}, "10.0.0.0"],
    ["node ports", { type: "NodePort", ports: of(undefined, undefined) }, "32769 32770 10.0.0.0"],
    [
      "node ports after a given one",
      { type: "NodePort", ports: of(31_000, undefined) },
      "31000 31001 10.0.0.0",
    ],
    ["a node port out of the range", { type: "NodePort", ports: of(99) }, "99 10.0.0.0"],
    [
      "a node port in use",
      { type: "NodePort", ports: of(30_005) },
      "provided port is already allocated",
    ],
    [
      "a node port twice",
      { type: "NodePort", ports: of(31_000, 31_000) },
      "provided port is already allocated",
    ],
    ["a health check", { ...local, ports: of(undefined) }, "32769 32770 10.0.0.0"],
    [
      "a health check in use",
      { ...local, healthCheckNodePort: 30_005 },
      "failed to allocate requested HealthCheck NodePort 30005: provided port is already allocated",
    ],
  ];
  for (const [title, spec, expected] of answers) {
    it(`answers ${title}`, async () => {
      const test = await withNetwork();
      const holder = { clusterIP: "10.0.0.5", type: "NodePort", ports: of(30_005) };
      await create(test, "holder", holder);
      const held = [await addresses(test), await takenPorts(test)];
      const asked = test.post("v1/services/ns", service("a", spec), { dryRun: true });
      if (/^[\d. ]+$/.test(expected)) {
        const { spec: given } = (await asked).item.object;
        const ports = given.ports.map(({ nodePort }: any) => nodePort);
        const all = [...ports, given.healthCheckNodePort, given.clusterIP];
        assert.equal(all.filter((each) => each !== undefined).join(" "), expected);
      } else {
        const refused = await refusal(asked);
        assert.ok(refused.includes(expected), refused);
      }
      assert.deepEqual([await addresses(test), await takenPorts(test)], held);
    });
  }

  it("differs for a create: a health check out of the range is an internal error", async () => {
    const test = await withNetwork();
    for (const port of [-1, 80, 70_000]) {
      const asked = test.post(
        "v1/services/ns",
        service("a", { ...local, healthCheckNodePort: port }),
      );
      assert.match(await refusal(asked), /^500 .*is not in the valid range/);
    }
  });
});
