import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { ingress } from "./ingress.ts";
import { checkNetwork } from "./ip.ts";
import { serviceCidr } from "./service-cidr.ts";

const backend = { service: { name: "web", port: { number: 80 } } };
const make = (spec: Sketch) => created(ingress, { spec });
const paths = (...all: Sketch[]) => ({ rules: [{ host: "a.example.com", http: { paths: all } }] });

describe("Ingress", () => {
  const nowhere = "either `defaultBackend` or `rules` must be specified";
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [{ defaultBackend: backend }, []],
    [{}, [`Invalid spec = null: ${nowhere}`]],
    [
      { defaultBackend: {} },
      ['Invalid spec.defaultBackend = "": resource or service backend is required'],
    ],
    [
      { defaultBackend: { service: { name: "web", port: {} } } },
      ["Required spec.defaultBackend: port name or number is required"],
    ],
    [
      { rules: [{ host: "192.0.2.1" }] },
      ['Invalid spec.rules[0].host = "192.0.2.1": must be a DNS name, not an IP address'],
    ],
    [
      paths({ path: "/a/./b/..", pathType: "Exact", backend }),
      [
        "Invalid spec.rules[0].http.paths[0].path = \"/a/./b/..\": must not contain '/./'",
        "Invalid spec.rules[0].http.paths[0].path = \"/a/./b/..\": cannot end with '/..'",
      ],
    ],
    [
      paths({ path: "/", backend }),
      ["Required spec.rules[0].http.paths[0].pathType: pathType must be specified"],
    ],
    [paths({ path: "/a//b", pathType: "ImplementationSpecific", backend }), []],
  ];
  for (const [spec, expected] of rows) {
    it(JSON.stringify(spec), () => assert.deepEqual(make(spec).complaints, expected));
  }
  it("requires class field and annotation to match on create", () => {
    const metadata = { annotations: { "kubernetes.io/ingress.class": "a" } };
    const sketch = { metadata, spec: { defaultBackend: backend, ingressClassName: "b" } };
    const complaint =
      'Invalid annotations.kubernetes.io/ingress.class = "a": must match `ingressClassName` ' +
      "when both are specified";
    assert.deepEqual(created(ingress, sketch).complaints, [complaint]);
    assert.deepEqual(updated(ingress, make(sketch.spec), sketch).complaints, []);
  });
  it("prints at most three hosts", () => {
    const hosts = (...names: string[]) => {
      const { object } = make({ rules: names.map((host) => ({ host })) });
      return ingress.row(object, { now: 0 })[2];
    };
    assert.equal(hosts(), "*");
    assert.equal(hosts("", ""), "*");
    assert.equal(hosts("a", "b"), "a,b");
    assert.equal(hosts("a", "b", "c", "d"), "a,b,c + 1 more...");
    assert.equal(hosts("a", "b", "c", ""), "a,b,c + 1 more...");
  });
});

describe("ServiceCIDR", () => {
  const make = (...cidrs: string[]) => created(serviceCidr, { spec: { cidrs } });
  const oneEach =
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
  it("accepts at most one CIDR of each family", () => {
    assert.deepEqual(make("10.0.0.0/24", "fd00::/108").complaints, []);
    assert.deepEqual(make().complaints, ["Required spec.cidrs: at least one CIDR required"]);
    assert.deepEqual(make("10.0.0.0/24", "10.1.0.0/24").complaints, [
      `Invalid spec.cidrs = ["10.0.0.0/24","10.1.0.0/24"]: ${oneEach}`,
    ]);
  });
  it("can only be extended by a CIDR of the other family", () => {
    const change = (...cidrs: string[]) =>
      updated(serviceCidr, make("10.0.0.0/24"), { spec: { cidrs } }).complaints;
    assert.deepEqual(change("10.0.0.0/24", "fd00::/108"), []);
    assert.deepEqual(change("10.1.0.0/24"), [
      'Invalid spec.cidrs[0] = "10.1.0.0/24": field is immutable',
    ]);
    assert.deepEqual(change("10.0.0.0/24", "fd00::1/108"), [
      'Invalid spec.cidrs[1] = "fd00::1/108": must not have bits set beyond the prefix length',
    ]);
  });
  it("requires canonical CIDRs", () => {
    assert.deepEqual(checkNetwork("10.0.0.0/8"), []);
    assert.equal(checkNetwork("010.0.0.0/8").length, 1);
    assert.equal(checkNetwork("FD00::/8").join(), 'must be in canonical form ("fd00::/8")');
  });
});
