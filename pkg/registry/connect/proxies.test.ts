import assert from "node:assert/strict";
import { Query } from "#request";
import { StatusError } from "#meta";
import { testRegistry, type TestRegistry } from "../testing.ts";
import type { Destination } from "./destination.ts";

/** IPv4 and IPv6 addresses that are not global unicast, in all notations that resolvers accept. */
const notGlobalUnicast: readonly string[] = [
  "127.0.0.1",
  "127.1.2.3",
  "0.0.0.0",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "fe80::1",
  "ff02::1",
].flatMap(notations);

function notations(address: string): readonly string[] {
  if (address.includes(":")) return [address, address.toUpperCase(), address.replace("::", ":0::")];
  const bytes = address.split(".").map(Number);
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0"));
  const groups = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
  return [address, `::ffff:${address}`, `::ffff:${groups}`, `0:0:0:0:0:ffff:${groups}`];
}

const loopback = ["::1", "0::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001"];
const unreachable = [...notGlobalUnicast, ...loopback, "::"];

interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

describe("proxies to nodes", () => {
  let resolved: Record<string, readonly string[]> = {};
  let lookups: string[] = [];
  const resolveHost = async (host: string): Promise<readonly string[]> => {
    lookups.push(host);
    const addresses = resolved[host];
    if (addresses === undefined) throw new Error("ENOTFOUND");
    return addresses;
  };
  let test: TestRegistry;

  before(async () => {
    test = await testRegistry({ resolveHost });
    await test.post("v1/nodes", { metadata: { name: "n" } });
  });
  beforeEach(() => {
    resolved = {};
    lookups = [];
  });

  const proxy = async (
    path: string,
    { type, address }: NodeAddress,
  ): Promise<Destination | undefined> => {
    const daemonEndpoints = { kubeletEndpoint: { Port: 10_250 } };
    const status = { addresses: [{ type, address }], daemonEndpoints };
    await test.put("v1/nodes//n/status", { metadata: { name: "n" }, status });
    const request = { query: Query.parse(""), rawQuery: "", path: "/x" };
    return test.registry.connect(test.request(`v1/nodes//${path}/proxy`), request);
  };

  it("name the resource of the request in a 404 for another object", async () => {
    const request = { query: Query.parse(""), rawQuery: "", path: "/x" };
    const path = "v1/services/default/none/proxy";
    const connection = test.registry.connect(test.request(path), request);
    await assert.rejects(connection, /^StatusError: services "none" not found$/);
  });

  const paths = ["n", "n:10250", "n:80", "http:n:80"];

  it("reject every address that is not global unicast, on every port", async () => {
    for (const address of unreachable) {
      resolved = { [address]: [address] };
      for (const path of paths) {
        const connection = proxy(path, { type: "InternalIP", address });
        await assert.rejects(connection, isAddressNotAllowed, `${path} ${address}`);
      }
    }
  });

  it("reject a name that resolves to such an address among others", async () => {
    for (const address of ["127.0.0.1", "::ffff:7f00:1", "fe80::1%eth0"]) {
      resolved = { "node.example": ["192.0.2.1", address] };
      for (const path of paths) {
        const connection = proxy(path, { type: "Hostname", address: "node.example" });
        await assert.rejects(connection, isAddressNotAllowed, `${path} ${address}`);
      }
    }
  });

  it("reject a name without an address", async () => {
    const unknown = proxy("n", { type: "Hostname", address: "unknown.example" });
    await assert.rejects(unknown, /lookup unknown\.example: no such host/);
    resolved = { "empty.example": [] };
    const empty = proxy("n", { type: "Hostname", address: "empty.example" });
    await assert.rejects(empty, /no addresses for hostname/);
  });

  it("resolve a name once and connect to the checked addresses", async () => {
    resolved = { "node.example": ["192.0.2.1", "2001:db8::1"] };
    for (const path of paths) {
      lookups = [];
      const destination = await proxy(path, { type: "Hostname", address: "node.example" });
      assert.deepEqual(destination?.addresses, ["192.0.2.1", "2001:db8::1"]);
      assert.equal(destination.host, "node.example");
      assert.deepEqual(lookups, ["node.example"]);
    }
  });
});

describe("proxies to pods", () => {
  it("reject every address that is not global unicast", async () => {
    const test = await testRegistry();
    const containers = [{ name: "c", image: "i", ports: [{ containerPort: 80 }] }];
    await test.post("v1/pods/ns", { metadata: { name: "p" }, spec: { containers } });
    const request = { query: Query.parse(""), rawQuery: "", path: "/x" };
    let rejected = 0;
    for (const ip of unreachable) {
      const status = { phase: "Running", podIP: ip, podIPs: [{ ip }] };
      const pod = { metadata: { name: "p" }, spec: { containers }, status };
      const isStored = await test.put("v1/pods/ns/p/status", pod).then(
        () => true,
        (error: unknown) => !(error instanceof StatusError && error.code === 422),
      );
      if (!isStored) continue;
      rejected += 1;
      const connection = test.registry.connect(test.request("v1/pods/ns/p/proxy"), request);
      await assert.rejects(connection, isAddressNotAllowed, ip);
    }
    assert.ok(rejected > 0);
  });
});

function isAddressNotAllowed(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    error.code === 400 &&
    error.status.message === "address not allowed"
  );
}
