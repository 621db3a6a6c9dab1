import assert from "node:assert/strict";
import { Problems } from "#schema";
import { StatusError } from "#meta";
import { created, type Sketch, updated } from "../../testing.ts";
import { service } from "./service.ts";
import { defaultFamilies } from "./service-families.ts";

const gates = ["PreferSameTrafficDistribution"];
const ports = [{ port: 80 }];
const make = (spec: Sketch) => created(service, { spec }, { gates });
const complaints = (spec: Sketch) => make({ ports, ...spec }).complaints;

/** Problems that end a write before anything else is looked at. */
function refusal(action: () => unknown): readonly string[] {
  try {
    action();
    return [];
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return (error.status.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
  }
}

const refused = (spec: Sketch) => refusal(() => make({ ports, ...spec }));

describe("Service defaults", () => {
  const filled = (spec: Sketch) => make(spec).object.spec;
  it("for every type", () => {
    assert.deepEqual(filled({ ports }), {
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      type: "ClusterIP",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
    assert.deepEqual(filled({ type: "ExternalName", externalName: "a.example.com" }), {
      type: "ExternalName",
      externalName: "a.example.com",
      sessionAffinity: "None",
    });
    const balancer = filled({ ports, type: "LoadBalancer" });
    assert.equal(balancer.externalTrafficPolicy, "Cluster");
    assert.equal(balancer.allocateLoadBalancerNodePorts, true);
    assert.equal(filled({ ports, externalIPs: ["203.0.113.5"] }).externalTrafficPolicy, "Cluster");
  });
  it("for sessions", () => {
    const affinity = { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: {} } };
    assert.deepEqual(filled({ ports, ...affinity }).sessionAffinityConfig, {
      clientIP: { timeoutSeconds: 10800 },
    });
    const unused = { sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } };
    assert.equal(filled({ ports, ...unused }).sessionAffinityConfig, undefined);
  });
  it("both families for a headless Service without selector", () => {
    const families = (spec: Sketch) => {
      const { ipFamilies, ipFamilyPolicy } = filled({ ports, clusterIP: "None", ...spec });
      return [ipFamilyPolicy, ...ipFamilies];
    };
    assert.deepEqual(families({}), ["RequireDualStack", "IPv4", "IPv6"]);
    assert.deepEqual(families({ ipFamilies: ["IPv6"] }), ["RequireDualStack", "IPv6", "IPv4"]);
    assert.deepEqual(families({ selector: { a: "b" } }), ["SingleStack", "IPv4"]);
  });
});

describe("Service IP families in a dual-stack cluster", () => {
  function settled(spec: Sketch): readonly unknown[] {
    const object = { metadata: {}, spec: { type: "ClusterIP", ...spec }, status: {} } as any;
    const problems = new Problems();
    defaultFamilies(object, { old: undefined, configured: ["IPv4", "IPv6"], problems });
    return problems.empty
      ? [object.spec.ipFamilyPolicy, object.spec.ipFamilies]
      : problems.list.map(({ field, detail }) => `${field}: ${detail}`);
  }
  const rows: readonly (readonly [Sketch, readonly unknown[]])[] = [
    [{}, ["SingleStack", ["IPv4"]]],
    [{ ipFamilyPolicy: "PreferDualStack" }, ["PreferDualStack", ["IPv4", "IPv6"]]],
    [
      { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6"] },
      ["RequireDualStack", ["IPv6", "IPv4"]],
    ],
    [{ clusterIP: "fd00::1", clusterIPs: ["fd00::1"] }, ["SingleStack", ["IPv6"]]],
    [
      { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4", "IPv6"] },
      [
        "spec.ipFamilyPolicy: must be 'RequireDualStack' or 'PreferDualStack' when multiple IP " +
          "families are specified",
      ],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(settled(spec), expected));
  }
});

describe("Services", () => {
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{ ports: [] }, ["Required spec.ports"]],
    [
      { ports: [{ port: 1 }, { port: 1 }] },
      [
        "Required spec.ports[0].name",
        "Required spec.ports[1].name",
        'Duplicate spec.ports[1] = {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,' +
          '"TargetPort":0,"NodePort":0}',
      ],
    ],
    [
      { ports: [{ port: 1, nodePort: 30_000 }] },
      ["Forbidden spec.ports[0].nodePort: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      { type: "LoadBalancer", ports: [{ port: 10_250 }] },
      [
        "Invalid spec.ports[0] = 10250: may not expose port 10250 externally since it is used by " +
          "kubelet",
      ],
    ],
    [
      { type: "NodePort", clusterIP: "None" },
      ["Invalid spec.clusterIPs[0] = \"None\": may not be set to 'None' for NodePort services"],
    ],
    [{ type: "ExternalName" }, ["Required spec.externalName"]],
    [
      { externalTrafficPolicy: "Local" },
      [
        'Invalid spec.externalTrafficPolicy = "Local": may only be set for ' +
          "externally-accessible services",
      ],
    ],
    [
      { trafficDistribution: "Far" },
      [
        'NotSupported spec.trafficDistribution = "Far": supported values: "PreferClose", ' +
          '"PreferSameZone", "PreferSameNode"',
      ],
    ],
    [
      { loadBalancerSourceRanges: ["x"] },
      [
        "Forbidden spec.LoadBalancerSourceRanges: may only be used when `type` is 'LoadBalancer'",
        'Invalid spec.LoadBalancerSourceRanges[0] = "x": must be a valid CIDR value, (e.g. ' +
          "10.9.8.0/24 or 2001:db8::/64)",
      ],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(complaints(spec), expected));
  }
  it("with invalid or contradicting cluster IPs are rejected before validation", () => {
    const bad = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    assert.deepEqual(refused({ clusterIP: "10.0.0", ports: [] }), [
      `spec.clusterIPs[0]: Invalid value: "10.0.0": ${bad}`,
    ]);
    assert.deepEqual(refused({ clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.2"] }), [
      'spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
    ]);
    assert.deepEqual(refused({ ipFamilies: ["IPv6"] }), [
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ]);
  });
});

describe("Service with IPv4-mapped addresses", () => {
  const mapped = "::ffff:10.0.0.9";
  it("has IP family IPv4", () => {
    const made = make({ ports, clusterIP: mapped });
    assert.deepEqual(made.complaints, []);
    assert.deepEqual(made.object.spec.ipFamilies, ["IPv4"]);
    assert.deepEqual(made.object.spec.clusterIPs, [mapped]);
    assert.deepEqual(refused({ clusterIP: mapped, ipFamilies: ["IPv6"] }), [
      `spec.clusterIPs[0]: Invalid value: "${mapped}": expected an IPv6 value as indicated by ` +
        "`ipFamilies[0]`",
    ]);
  });
});

describe("Service updates", () => {
  const address = { clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.9"] };
  const nodePorts = [{ name: "a", port: 80, nodePort: 30_001 }];
  const old = make({ ports: nodePorts, type: "NodePort", ...address });
  const write = (spec: Sketch) => updated(service, old, { spec }, { gates });

  it("keep allocated addresses and ports", () => {
    const { object, complaints: found } = write({
      type: "NodePort",
      ports: [{ name: "a", port: 81 }],
    });
    assert.deepEqual(found, []);
    assert.equal(object.spec.clusterIP, "10.0.0.9");
    assert.equal(object.spec.ports[0].nodePort, 30_001);
  });
  it("drop fields that the new type does not use, unless they were changed", () => {
    const before = { ports: nodePorts, ...address, externalTrafficPolicy: "Cluster" };
    const { object, complaints: found } = write({ ...before, type: "ClusterIP" });
    assert.deepEqual(found, []);
    assert.equal(object.spec.ports[0].nodePort, undefined);
    assert.equal(object.spec.externalTrafficPolicy, undefined);
    const alias = { ...before, type: "ExternalName", externalName: "a.example.com" };
    const families = { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" };
    const changed = write({ ...alias, ...families });
    assert.deepEqual(changed.complaints, []);
    assert.equal(changed.object.spec.clusterIPs, undefined);
    assert.equal(changed.object.spec.ipFamilies, undefined);
  });
  it("reject changes of the cluster IP", () => {
    const spec = { ...address, ports: nodePorts, type: "NodePort", clusterIP: "10.0.0.8" };
    assert.deepEqual(write(spec).complaints, [
      'Invalid spec.clusterIPs[0] = ["10.0.0.8"]: may not change once set',
    ]);
    // Older clients know of one address only.
    const alone = { type: "NodePort", ports: nodePorts, clusterIP: "10.0.0.8" };
    assert.deepEqual(write(alone).complaints, [
      'Invalid spec.clusterIPs[0] = ["10.0.0.8"]: may not change once set',
    ]);
  });
  it("of the status validate the load balancer", () => {
    const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
    const write = { subresource: "status" };
    assert.deepEqual(updated(service, old, { status }, write).complaints, [
      "Forbidden status.loadBalancer.ingress: may only be used when `spec.type` is 'LoadBalancer'",
    ]);
  });
});

describe("Service rows", () => {
  const cells = (spec: Sketch) => service.row(make(spec).object, { now: 0 }).slice(1, 5);
  it("contain addresses and ports", () => {
    const node = { type: "NodePort", clusterIP: "10.0.0.2" };
    assert.deepEqual(cells({ ...node, ports: [{ port: 80, nodePort: 30_085 }] }), [
      "NodePort",
      "10.0.0.2",
      "<none>",
      "80:30085/TCP",
    ]);
    assert.deepEqual(cells({ ports, type: "LoadBalancer" }), [
      "LoadBalancer",
      "<none>",
      "<pending>",
      "80/TCP",
    ]);
  });
});
