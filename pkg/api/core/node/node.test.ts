import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../../testing.ts";
import { node } from "./node.ts";

const complaints = (sketch: Sketch) => created(node, sketch).complaints;

describe("Node", () => {
  it("synchronizes podCIDR and podCIDRs", () => {
    const ranges = (spec: Sketch) => {
      const { podCIDR, podCIDRs } = created(node, { spec }).object.spec;
      return [podCIDR, podCIDRs];
    };
    const [a, b] = ["10.1.0.0/24", "10.2.0.0/24"];
    assert.deepEqual(ranges({ podCIDR: a }), [a, [a]]);
    assert.deepEqual(ranges({ podCIDRs: [a] }), [a, [a]]);
    assert.deepEqual(ranges({ podCIDR: a, podCIDRs: [b] }), [a, [a]]);
  });
  it("defaults allocatable to capacity", () => {
    const { status } = created(node, { status: { capacity: { cpu: "4" } } }).object;
    assert.deepEqual(status.allocatable, { cpu: "4" });
  });
  const rows: readonly (readonly [Sketch, readonly string[]])[] = [
    [
      { spec: { podCIDRs: ["10.1.0.0/24", "10.2.0.0/24"] } },
      [
        'Invalid spec.podCIDRs = ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one ' +
          "CIDR for each IP family",
      ],
    ],
    ...(
      [
        ["x", "invalid character 'x' looking for beginning of value"],
        ["[", "unexpected end of JSON input"],
        ["{}", "json: cannot unmarshal object into Go value of type []v1.Taint"],
        ["[1]", "json: cannot unmarshal number into Go value of type v1.Taint"],
      ] as const
    ).map(([text, told]): readonly [Sketch, readonly string[]] => [
      { metadata: { annotations: { "scheduler.alpha.kubernetes.io/taints": text } } },
      [`Invalid metadata.annotations = "scheduler.alpha.kubernetes.io/taints": ${told}`],
    ]),
    [{ spec: { taints: [{ key: "k" }] } }, ["Required metadata.taints[0].effect"]],
    [
      {
        spec: {
          taints: [
            { key: "k", effect: "NoSchedule" },
            { key: "k", effect: "NoSchedule", value: "b" },
          ],
        },
      },
      [
        'Duplicate metadata.taints[1] = {"Key":"k","Value":"b","Effect":"NoSchedule",' +
          '"TimeAdded":null}: taints must be unique by key and effect pair',
      ],
    ],
    [
      { status: { allocatable: { pods: "1.5" } } },
      ['Invalid status.allocatable.pods = "1500m": must be an integer'],
    ],
  ];
  for (const [sketch, expected] of rows) {
    it(JSON.stringify(sketch), () => assert.deepEqual(complaints(sketch), expected));
  }
  it("accepts podCIDR and providerID only once", () => {
    const old = created(node, { spec: { podCIDR: "10.1.0.0/24", providerID: "x://1" } });
    const spec = { podCIDR: "10.2.0.0/24", providerID: "x://2" };
    assert.deepEqual(updated(node, old, { spec }).complaints, [
      'Forbidden spec.podCIDRs: node updates may not change podCIDR except from "" to valid',
      'Forbidden spec.providerID: node updates may not change providerID except from "" to valid',
    ]);
    assert.deepEqual(updated(node, created(node, {}), { spec }).complaints, []);
  });
  it("prints state, roles and addresses", () => {
    const labels = { "node-role.kubernetes.io/edge": "", "kubernetes.io/role": "worker" };
    const status = {
      conditions: [{ type: "Ready", status: "Unknown" }],
      addresses: [{ type: "InternalIP", address: "192.0.2.4" }],
    };
    const { object } = created(node, {
      metadata: { labels },
      spec: { unschedulable: true },
      status,
    });
    const row = node.row(object, { now: 0 });
    assert.deepEqual(row.slice(1, 3), ["NotReady,SchedulingDisabled", "edge,worker"]);
    assert.deepEqual(row.slice(5, 8), ["192.0.2.4", "<none>", "<unknown>"]);
  });
});
