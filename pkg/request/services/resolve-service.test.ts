import assert from "node:assert/strict";
import { seededRandom } from "#base";
import {
  type ResolvableService,
  resolveService,
  type ServiceRouting,
  type ServiceSlice,
} from "./resolve-service.ts";

const random = seededRandom(1);
const ports: NonNullable<ResolvableService["spec"]["ports"]> = [{ name: "https", port: 443 }];
const withClusterIp = { clusterIP: "10.0.0.1", ports };

function resolved(
  spec: ResolvableService["spec"] | undefined,
  slices: readonly ServiceSlice[] = [],
  routing: ServiceRouting = "any",
) {
  const reader = {
    service: async () => (spec === undefined ? undefined : { spec }),
    slices: async () => slices,
  };
  return resolveService(reader, { namespace: "ns", name: "api", port: 443 }, { routing, random });
}

function slice(addressType: string, ...hosts: readonly string[]): ServiceSlice {
  const endpoints = hosts.map((host) => ({ addresses: [host] }));
  return { addressType, ports: [{ name: "https", port: 8443 }], endpoints };
}

describe("resolveService", () => {
  it("returns every ready endpoint, those of the primary family first", async () => {
    const unready = {
      ...slice("IPv4"),
      endpoints: [{ addresses: ["10.1.0.9"], conditions: { ready: false } }],
    };
    const slices = [slice("IPv6", "fd00::1"), slice("IPv4", "10.1.0.1", "10.1.0.2"), unready];
    for (const routing of ["any", "endpoints"] as const) {
      const found = await resolved({ ports, ipFamilies: ["IPv4"] }, slices, routing);
      assert.deepEqual(found.map(({ host }) => host).toSorted(), [
        "10.1.0.1",
        "10.1.0.2",
        "fd00::1",
      ]);
      assert.equal(found.at(-1)?.host, "fd00::1");
      assert.ok(found.every(({ port }) => port === 8443));
    }
  });

  it("shuffles the endpoints", async () => {
    const first = new Set<string>();
    for (let i = 0; i < 50; i++) {
      const [address] = await resolved({ ports }, [slice("IPv4", "10.1.0.1", "10.1.0.2")]);
      first.add(address!.host);
    }
    assert.equal(first.size, 2);
  });

  it("never returns the cluster IP", async () => {
    const none = /^UnresolvedService: no endpoints available for service "api"$/;
    for (const routing of ["any", "endpoints"] as const) {
      const unready = { addresses: ["10.1.0.1"], conditions: { ready: false } };
      const slices = [{ ...slice("IPv4"), endpoints: [unready] }];
      await assert.rejects(resolved(withClusterIp, [], routing), none);
      await assert.rejects(resolved(withClusterIp, slices, routing), none);
    }
  });

  it("returns the name of an ExternalName Service, unless routing is endpoints", async () => {
    const spec = { type: "ExternalName", externalName: "api.example.com" };
    assert.deepEqual(await resolved(spec), [{ host: "api.example.com", port: 443 }]);
    await assert.rejects(
      resolved(spec, [], "endpoints"),
      /unsupported service type "ExternalName"/,
    );
  });

  it("reports what is missing", async () => {
    await assert.rejects(resolved(undefined), /^UnresolvedService: service "api" not found$/);
    const other = { ports: [{ port: 80 }] };
    await assert.rejects(resolved(other), /no service port 443 found for service "api"$/);
    await assert.rejects(resolved({ type: "Odd", ports }), /unsupported service type "Odd"$/);
  });
});
