import assert from "node:assert/strict";
import { endpoints } from "./core/endpoints.ts";
import { endpointSlice } from "./discovery/endpoint-slice.ts";
import { addressWarning, networkWarnings } from "./networking/ip.ts";
import { ingressClass } from "./networking/ingress-class.ts";
import { ipAddress } from "./networking/ip-address.ts";
import { serviceCidr } from "./networking/service-cidr.ts";
import { networkPolicy } from "./networking/network-policy.ts";
import { created, type Sketch, updated } from "./testing.ts";

const noAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const noNetwork = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const noPort = "must be between 1 and 65535, inclusive";

describe("NetworkPolicy", () => {
  const complaints = (spec: Sketch) => created(networkPolicy, { spec }).complaints;
  const ports = (...all: Sketch[]) => ({ ingress: [{ ports: all }] });
  const block = (ipBlock: Sketch) => ({ egress: [{ to: [{ ipBlock }] }] });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{}, []],
    [ports({ port: 9, protocol: "SCTP", endPort: 9 }), []],
    [
      ports({ port: 100, endPort: 99 }, { endPort: 1 }, { port: "http", endPort: 1 }),
      [
        "Invalid spec.ingress[0].ports[0].endPort = 100: must be greater than or equal to `port`",
        "Invalid spec.ingress[0].ports[1].endPort = 1: may not be specified when `port` is not " +
          "specified",
        "Invalid spec.ingress[0].ports[2].endPort = 1: may not be specified when `port` is " +
          "non-numeric",
      ],
    ],
    [ports({ port: 0 }), [`Invalid spec.ingress[0].ports[0].port = 0: ${noPort}`]],
    [{ ingress: [{ from: [{}] }] }, ["Required spec.ingress[0].from[0]: must specify a peer"]],
    [
      { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }] }] },
      ["Forbidden spec.ingress[0].from[0]: may not specify both ipBlock and another peer"],
    ],
    [block({ cidr: "0.0.0.0/0", except: ["0.0.0.0/1"] }), []],
    [
      block({ cidr: "10.0.0.0/33" }),
      [`Invalid spec.egress[0].to[0].ipBlock.cidr = "10.0.0.0/33": ${noNetwork}`],
    ],
    [
      block({ cidr: "10.0.0.0/8", except: ["11.0.0.0/16", "10.0.0.0/16", "2001:db8::/32"] }),
      [
        'Invalid spec.egress[0].to[0].ipBlock.except[0] = "11.0.0.0/16": must be a strict subset ' +
          "of `cidr`",
        'Invalid spec.egress[0].to[0].ipBlock.except[2] = "2001:db8::/32": must be a strict ' +
          "subset of `cidr`",
      ],
    ],
    [
      { policyTypes: ["Both"] },
      ['NotSupported spec.policyTypes[0] = "Both": supported values: "Ingress", "Egress"'],
    ],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec).slice(0, 90), () => assert.deepEqual(complaints(spec), expected));
  }

  it("has policy type Egress by default if it has egress rules", () => {
    const types = (spec: Sketch) => created(networkPolicy, { spec }).object.spec.policyTypes;
    assert.deepEqual(types({}), ["Ingress"]);
    assert.deepEqual(types({ egress: [] }), ["Ingress"]);
    assert.deepEqual(types({ egress: [{}] }), ["Ingress", "Egress"]);
    assert.deepEqual(types({ policyTypes: ["Egress"] }), ["Egress"]);
  });
  it("prints its selector", () => {
    const podSelector = {
      matchLabels: { app: "db" },
      matchExpressions: [{ key: "tier", operator: "NotIn", values: ["y", "x"] }],
    };
    const cell = (spec: Sketch) =>
      networkPolicy.row(created(networkPolicy, { spec }).object, { now: 0 })[1];
    assert.equal(cell({ podSelector }), "app=db,tier notin (x,y)");
    assert.equal(cell({}), "<none>");
  });
});

describe("IPAddress, IngressClass and ServiceCIDR", () => {
  it("validates the parent of an IPAddress on update", () => {
    const parentRef = { resource: "services", namespace: "n", name: "s" };
    const old = created(ipAddress, { metadata: { name: "10.0.0.9" }, spec: { parentRef } });
    const changed = (spec: Sketch) =>
      updated(ipAddress, old, { metadata: { name: "10.0.0.9" }, spec }).complaints;
    assert.deepEqual(changed({ parentRef }), []);
    assert.match(changed({}).join(), /^Required spec.parentRef,Invalid spec.parentRef = null/);
  });
  it("prints the new value of an immutable field", () => {
    const spec = { controller: "example.com/c" };
    const old = created(ingressClass, { spec });
    const [first] = updated(ingressClass, old, { spec: {} }).complaints;
    assert.equal(first, 'Invalid spec.controller = "": field is immutable');
  });
  it("changes the status of a ServiceCIDR by an update of the main resource", () => {
    const spec = { cidrs: ["10.1.0.0/24"] };
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    const old = created(serviceCidr, { spec });
    assert.equal(updated(serviceCidr, old, { spec, status }).object.status.conditions.length, 1);
  });
});

describe("EndpointSlice", () => {
  const slice = (addressType: string, ...addresses: string[]) => ({
    addressType,
    endpoints: [{ addresses }],
  });
  const complaints = (sketch: Sketch) => created(endpointSlice, sketch).complaints;

  it("accepts addresses of its type only", () => {
    assert.deepEqual(complaints(slice("IPv4", "010.1.2.3")), []);
    assert.deepEqual(complaints(slice("FQDN", "a.example.com", "b.example.com.")), []);
    assert.deepEqual(complaints(slice("IPv4", "2001:db8::1", "10.1.2")), [
      'Invalid endpoints[0].addresses = "2001:db8::1": must be an IPv4 address',
      `Invalid endpoints[0].addresses[1] = "10.1.2": ${noAddress}`,
    ]);
    assert.deepEqual(complaints(slice("IPv6", "2001:DB8::1")), [
      'Invalid endpoints[0].addresses[0] = "2001:DB8::1": must be in canonical form ' +
        '("2001:db8::1")',
    ]);
    assert.deepEqual(complaints(slice("FQDN", "single")), [
      'Invalid endpoints[0].addresses[0] = "single": should be a domain with at least two ' +
        "segments separated by dots",
    ]);
  });
  it("increases the generation when deprecatedTopology is dropped, as kube-apiserver does", () => {
    const old = created(endpointSlice, slice("IPv4", "10.1.2.3"));
    old.object.metadata.generation = 4;
    const endpoints = [{ addresses: ["10.1.2.3"], deprecatedTopology: { a: "b" } }];
    const { object } = updated(endpointSlice, old, { addressType: "IPv4", endpoints });
    assert.equal(object.endpoints[0].deprecatedTopology, undefined);
    assert.equal(object.metadata.generation, 5);
  });
  it("rejects loopback, link-local and unspecified addresses", () => {
    const v4 = slice("IPv4", "127.0.0.1", "169.254.1.1", "224.0.0.1", "0.0.0.0");
    const reasons = complaints(v4).map((text) => text.replace(/^.*?: /, ""));
    assert.deepEqual(reasons, [
      "may not be in the loopback range (127.0.0.0/8, ::1/128)",
      "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
      "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
      "may not be unspecified (0.0.0.0)",
    ]);
    assert.equal(complaints(slice("IPv6", "::1", "fe80::1", "ff02::1", "::")).length, 4);
  });
  it("requires unique port names", () => {
    const sketch = { ...slice("IPv4", "10.0.0.1"), ports: [{ port: 1 }, { port: 2 }] };
    assert.deepEqual(complaints(sketch), ['Duplicate ports[1].name = ""']);
  });
  it("rejects changes of addressType", () => {
    const old = created(endpointSlice, slice("IPv4", "10.0.0.1"));
    assert.deepEqual(updated(endpointSlice, old, slice("IPv6", "10.0.0.1")).complaints, [
      'Invalid addressType = "IPv6": field is immutable',
    ]);
  });
  it("increases the generation with changed labels", () => {
    const old = created(endpointSlice, slice("IPv4", "10.0.0.1"));
    const labels = { metadata: { labels: { a: "b" } }, ...slice("IPv4", "10.0.0.1") };
    assert.equal(updated(endpointSlice, old, labels).object.metadata.generation, 1);
  });
  it("prints the first three ports and endpoints", () => {
    const all = ["1", "2", "3", "4", "5"].map((n) => `10.0.0.${n}`);
    const { object } = created(endpointSlice, {
      ...slice("IPv4", ...all),
      ports: [{ name: "any" }],
    });
    const row = endpointSlice.row(object, { now: 0 });
    assert.deepEqual(row.slice(1, 4), ["IPv4", "any", "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."]);
  });
});

describe("Endpoints", () => {
  const complaints = (...subsets: Sketch[]) => created(endpoints, { subsets }).complaints;
  const addresses = [{ ip: "10.1.1.1" }];

  it("require addresses and named ports", () => {
    assert.deepEqual(complaints({ addresses, ports: [{ port: 1 }] }), []);
    assert.deepEqual(complaints({ ports: [{ port: 1 }] }), [
      "Required subsets[0]: must specify `addresses` or `notReadyAddresses`",
    ]);
    assert.deepEqual(complaints({ addresses, ports: [{ port: 0 }, { name: "a", port: 2 }] }), [
      "Required subsets[0].ports[0].name",
      `Invalid subsets[0].ports[0].port = 0: ${noPort}`,
    ]);
    assert.deepEqual(complaints({ notReadyAddresses: [{ ip: "x" }] }), [
      `Invalid subsets[0].notReadyAddresses[0].ip = "x": ${noAddress}`,
      'Invalid subsets[0].notReadyAddresses[0].ip = "x": must be a valid IP address',
    ]);
  });
  it("print addresses with ports", () => {
    const cell = (...subsets: Sketch[]) =>
      endpoints.row(created(endpoints, { subsets }).object, { now: 0 })[1];
    assert.equal(cell(), "<none>");
    assert.equal(cell({ addresses }), "10.1.1.1");
    assert.equal(cell({ addresses, ports: [{ port: 1 }] }), "10.1.1.1:1");
    assert.equal(cell({ notReadyAddresses: addresses }), "");
  });
});

describe("warnings about non-canonical values", () => {
  const replaced = (what: string, text: string, proper: string) =>
    `non-standard ${what} "${text}" will be considered invalid in a future Kubernetes release: ` +
    `use "${proper}"`;
  it("of addresses", () => {
    assert.equal(addressWarning("10.0.0.1"), undefined);
    assert.equal(addressWarning("010.0.0.1"), replaced("IP address", "010.0.0.1", "10.0.0.1"));
  });
  it("of CIDRs", () => {
    const ambiguous = (text: string, network: string, single: string) =>
      `CIDR value "${text}" is ambiguous in this context (should be "${network}" or "${single}"?)`;
    const rows: readonly (readonly [string, ...string[]])[] = [
      ["10.0.0.0/8"],
      ["010.0.0.0/8", replaced("CIDR value", "010.0.0.0/8", "10.0.0.0/8")],
      ["10.0.0.0/08", replaced("CIDR value", "10.0.0.0/08", "10.0.0.0/8")],
      ["10.1.2.3/8", ambiguous("10.1.2.3/8", "10.0.0.0/8", "10.1.2.3/32")],
      [
        "010.1.2.3/8",
        ambiguous("010.1.2.3/8", "10.0.0.0/8", "10.1.2.3/32"),
        replaced("CIDR value", "010.1.2.3/8", "10.0.0.0/8"),
      ],
      ["::ffff:10.0.0.0/104", replaced("CIDR value", "::ffff:10.0.0.0/104", "10.0.0.0/8")],
      [
        "2001:DB8:0:0::/64",
        'IPv6 CIDR value "2001:DB8:0:0::/64" should be in RFC 5952 canonical format ' +
          '("2001:db8::/64")',
      ],
    ];
    for (const [text, ...warnings] of rows) assert.deepEqual(networkWarnings(text), warnings, text);
  });
});
