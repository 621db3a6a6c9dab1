import assert from "node:assert/strict";
import type { ResolvableService, ServiceSlice } from "#request";
import { BackendError } from "../contract.ts";
import type { RemoteApiService } from "../api-services.ts";
import { checkAvailability } from "./check.ts";

const ports = [{ name: "https", port: 443 }];
const ready = { addresses: ["10.0.0.9"] };
const notReady = { addresses: ["10.0.0.9"], conditions: { ready: false } };
const slice = { ports: [{ name: "https", port: 8443 }], endpoints: [ready] };

interface Given {
  readonly service?: ResolvableService;
  readonly slices?: readonly ServiceSlice[];
  readonly port?: number;
  /** Status codes, or errors, of the probes in turn. */
  readonly probes?: readonly (number | BackendError)[];
  readonly unresolved?: string;
}

async function check(given: Given) {
  const { service = { spec: { ports } }, slices = [slice], port, probes = [200] } = given;
  const paths: string[] = [];
  const rest = [...probes];
  const apiService: RemoteApiService = {
    metadata: { name: "v1.a.example.com", uid: "1", resourceVersion: "1" },
    spec: {
      group: "a.example.com",
      version: "v1",
      service: { namespace: "ns", name: "api", ...(port === undefined ? {} : { port }) },
      groupPriorityMinimum: 1,
      versionPriority: 1,
    },
  };
  const found = await checkAvailability(
    {
      reader: {
        service: async () => ("service" in given && !given.service ? undefined : service),
        slices: async () => slices,
      },
      discovery: {
        addressesOf: async () => {
          if (given.unresolved !== undefined)
            throw new BackendError("unresolved", given.unresolved);
          return [{ host: "10.0.0.9", port: 8443 }];
        },
        probe: async (_apiService, { path }) => {
          paths.push(path);
          const result = rest.length > 1 ? rest.shift()! : rest[0]!;
          if (result instanceof BackendError) throw result;
          return result;
        },
      },
    },
    apiService,
  );
  return { ...found, paths };
}

const url = "https://10.0.0.9:8443/apis/a.example.com/v1";
const failing = `failing or missing response from ${url}`;

describe("availability of an APIService", () => {
  it("is Passed once one probe succeeds", async () => {
    const { paths, ...found } = await check({});
    assert.deepEqual(found, { status: "True", reason: "Passed", message: "all checks passed" });
    assert.deepEqual(paths, ["/apis/a.example.com/v1"]);
    assert.equal((await check({ probes: [500, 500, 200] })).reason, "Passed");
  });

  const rows: readonly (readonly [string, Given, string, string])[] = [
    [
      "no Service",
      { service: undefined } as unknown as Given,
      "ServiceNotFound",
      'service/api in "ns" is not present',
    ],
    [
      "no such port",
      { port: 8443 },
      "ServicePortError",
      'service/api in "ns" is not listening on port 8443',
    ],
    [
      "no EndpointSlice",
      { slices: [] },
      "EndpointsNotFound",
      'cannot find endpointslices for service/api in "ns"',
    ],
    [
      "no ready endpoint",
      { slices: [{ ...slice, endpoints: [notReady] }] },
      "MissingEndpoints",
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    [
      "endpoints of another port",
      { slices: [{ ...slice, ports: [{ name: "http", port: 80 }] }] },
      "MissingEndpoints",
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    [
      "an error status code",
      { probes: [404] },
      "FailedDiscoveryCheck",
      `${failing}: bad status from ${url}: 404`,
    ],
    [
      "no connection",
      { probes: [new BackendError("unreachable", "dial tcp 10.0.0.9:8443: i/o timeout")] },
      "FailedDiscoveryCheck",
      `${failing}: Get "${url}": dial tcp 10.0.0.9:8443: i/o timeout`,
    ],
    [
      "a probe that times out",
      { probes: [new BackendError("timeout", "context deadline exceeded")] },
      "FailedDiscoveryCheck",
      `${failing}: Get "${url}": context deadline exceeded ` +
        "(Client.Timeout exceeded while awaiting headers)",
    ],
    [
      "an unresolvable Service",
      { unresolved: 'unsupported service type "Odd"' },
      "FailedDiscoveryCheck",
      'unsupported service type "Odd"',
    ],
  ];
  for (const [what, given, reason, message] of rows) {
    it(`is ${reason} with ${what}`, async () => {
      const { paths: _paths, ...found } = await check(given);
      assert.deepEqual(found, { status: "False", reason, message });
    });
  }

  it("does not require endpoints of Services that are not of type ClusterIP", async () => {
    for (const type of ["ExternalName", "LoadBalancer", "NodePort"]) {
      const found = await check({ service: { spec: { type } }, slices: [] });
      assert.equal(found.reason, "Passed", type);
    }
  });
});
