import assert from "node:assert/strict";
import type { Kind } from "#meta";
import { controllerRevision } from "./apps/controller-revision.ts";
import { ingressClass } from "./networking/ingress-class.ts";
import { runtimeClass } from "./node/runtime-class.ts";
import { podDisruptionBudget } from "./policy/pod-disruption-budget.ts";
import { clusterRoleBinding } from "./rbac/cluster-role-binding.ts";
import { clusterRole } from "./rbac/cluster-role.ts";
import { roleBinding } from "./rbac/role-binding.ts";
import { role } from "./rbac/role.ts";
import { csiDriver } from "./storage/csi-driver.ts";
import { csiNode } from "./storage/csi-node.ts";
import { storageClass } from "./storage/storage-class.ts";
import { volumeAttributesClass } from "./storage/volume-attributes-class.ts";
import { created, type Sketch, updated } from "./testing.ts";

type Row = readonly [Sketch, readonly string[]];

/** Rows of what is created and complained of; then rows of updates of `first`. */
function table(
  kind: Kind,
  rows: readonly Row[],
  first?: Sketch,
  updates: readonly Row[] = [],
): void {
  describe(kind.kind, () => {
    for (const [sketch, complaints] of rows) {
      it(JSON.stringify(sketch).slice(0, 90), () =>
        assert.deepEqual(created(kind, sketch).complaints, complaints),
      );
    }
    for (const [sketch, complaints] of updates) {
      it(`after the first ${JSON.stringify(sketch).slice(0, 80)}`, () => {
        const old = created(kind, first ?? {});
        assert.deepEqual(old.complaints, []);
        assert.deepEqual(updated(kind, old, sketch).complaints, complaints);
      });
    }
  });
}

table(
  controllerRevision,
  [
    [{ revision: 1, data: { a: 1 } }, []],
    [
      { revision: -1 },
      [
        "Invalid revision = -1: must be greater than or equal to 0",
        "Required data: data is mandatory",
      ],
    ],
  ],
  { revision: 1, data: { a: 1 } },
  [
    [{ revision: 2, data: { a: 1 } }, []],
    [{ revision: 1, data: { a: 2 } }, ['Invalid data = {"a":2}: field is immutable']],
  ],
);

table(
  runtimeClass,
  [
    [{ handler: "h", overhead: {}, scheduling: {} }, []],
    [
      { handler: "h", overhead: { podFixed: { cpu: "-1" } } },
      ['Invalid overhead.limits[cpu] = "-1": must be greater than or equal to 0'],
    ],
    [
      {
        handler: "h",
        scheduling: {
          tolerations: [
            { operator: "Equal" },
            { key: "a", operator: "Exists", value: "v" },
            { key: "a", operator: "X" },
            { key: "a", effect: "Never" },
          ],
        },
      },
      [
        'Invalid scheduling.tolerations.tolerations[0].operator = "Equal": operator must be ' +
          'Exists when `key` is empty, which means "match all values and all keys"',
        'Invalid scheduling.tolerations.tolerations[1].operator = "v": value must be empty when ' +
          "`operator` is 'Exists'",
        'NotSupported scheduling.tolerations.tolerations[2].operator = "X": supported values: ' +
          '"Equal", "Exists"',
        'NotSupported scheduling.tolerations.tolerations[3].effect = "Never": supported values: ' +
          '"NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
  ],
  { handler: "h1" },
  [[{ handler: "h2" }, ['Invalid handler = "h2": field is immutable']]],
);

const parameters = (rest: Sketch) => ({
  spec: { controller: "example.com/c", parameters: { kind: "A", name: "b", ...rest } },
});
table(
  ingressClass,
  [
    [parameters({}), []],
    [{ spec: {} }, ["Required spec.controller"]],
    [
      { spec: { controller: "example.com" } },
      [
        'Invalid spec.controller = "example.com": must be a domain-prefixed path (such as ' +
          '"acme.io/foo")',
      ],
    ],
    [
      parameters({ scope: "Namespace" }),
      ["Required spec.parameters.namespace: `parameters.scope` is set to 'Namespace'"],
    ],
    [
      parameters({ namespace: "x" }),
      ["Forbidden spec.parameters.namespace: `parameters.scope` is set to 'Cluster'"],
    ],
  ],
  parameters({}),
  [
    [
      { spec: { controller: "example.com/d" } },
      ['Invalid spec.controller = "example.com/d": field is immutable'],
    ],
  ],
);

const driver = { name: "a.example.com", nodeID: "n", topologyKeys: ["z"] };
table(
  csiNode,
  [
    [{ spec: { drivers: [driver] } }, []],
    [
      { spec: { drivers: [driver, { ...driver, nodeID: "" }] } },
      ["Required spec.drivers[1].nodeID", 'Duplicate spec.drivers[1].name = "a.example.com"'],
    ],
  ],
  { spec: { drivers: [driver] } },
  [
    [{ spec: { drivers: [] } }, []],
    [
      { spec: { drivers: [{ ...driver, nodeID: "m" }] } },
      [
        'Invalid spec.drivers = {"Name":"a.example.com","NodeID":"m","TopologyKeys":["z"],' +
          '"Allocatable":null}: field is immutable',
      ],
    ],
  ],
);

table(
  csiDriver,
  [
    [{}, []],
    [
      { spec: { tokenRequests: [{ audience: "a", expirationSeconds: 599 }, { audience: "a" }] } },
      [
        "Invalid spec.tokenRequests[0].expirationSeconds = 599: may not specify a duration less " +
          "than 10 minutes",
        'Duplicate spec.tokenRequests[1].audience = "a"',
      ],
    ],
    [
      { metadata: { name: "a".repeat(64) } },
      [`TooLong metadata.name = "${"a".repeat(64)}": may not be more than 63 bytes`],
    ],
  ],
  {},
  [
    [{ spec: { podInfoOnMount: true } }, []],
    [
      { spec: { attachRequired: false } },
      ["Invalid spec.attachedRequired = false: field is immutable"],
    ],
  ],
);

const topology = (key: string, ...values: string[]) => ({
  matchLabelExpressions: [{ key, values }],
});
table(
  storageClass,
  [
    [{ provisioner: "Example.com/P", reclaimPolicy: "" }, []],
    [{}, ["Required provisioner"]],
    [
      { provisioner: "p", allowedTopologies: [topology("z", "1"), topology("z", "1")] },
      ['Duplicate allowedTopologies[1].matchLabelExpressions = ""'],
    ],
  ],
  { provisioner: "p", parameters: { a: "b" } },
  [
    [
      { provisioner: "q", parameters: {}, volumeBindingMode: "WaitForFirstConsumer" },
      [
        "Forbidden parameters: updates to parameters are forbidden.",
        "Forbidden provisioner: updates to provisioner are forbidden.",
        'Invalid volumeBindingMode = "WaitForFirstConsumer": field is immutable',
      ],
    ],
  ],
);

table(volumeAttributesClass, [
  [{ driverName: "d", parameters: { a: "b" } }, []],
  [{ driverName: "d" }, ["Required parameters: must contain at least one key/value pair"]],
]);

const onPods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const noVerbs = "Required rules[0].verbs: verbs must contain at least one value";
table(
  role,
  [
    [{ rules: [onPods] }, []],
    [
      { rules: [{}] },
      [
        noVerbs,
        "Required rules[0].apiGroups: resource rules must supply at least one api group",
        "Required rules[0].resources: resource rules must supply at least one resource",
      ],
    ],
    [
      { rules: [{ ...onPods, nonResourceURLs: ["/x"] }] },
      [
        'Invalid rules[0].nonResourceURLs = ["/x"]: namespaced rules cannot apply to ' +
          "non-resource URLs",
        'Invalid rules[0].nonResourceURLs = ["/x"]: rules cannot apply to both regular resources ' +
          "and non-resource URLs",
      ],
    ],
  ],
  { rules: [onPods] },
  [[{ rules: [{ ...onPods, verbs: [] }] }, [noVerbs, noVerbs]]],
);
table(clusterRole, [
  [{ rules: [{ nonResourceURLs: ["*"], verbs: ["get"] }] }, []],
  [
    { aggregationRule: {} },
    [
      "Required aggregationRule.clusterRoleSelectors: at least one clusterRoleSelector required " +
        "if aggregationRule is non-nil",
    ],
  ],
]);

const group = "rbac.authorization.k8s.io";
const binding = (kind: string, ...subjects: Sketch[]) => ({
  roleRef: { kind, name: "r" },
  subjects,
});
const lost = { kind: "User", name: "u", namespace: "n" };
table(
  roleBinding,
  [
    [binding("Role", lost), []],
    [binding("Role", { kind: "User", name: "u" }, { kind: "ServiceAccount", name: "s" }), []],
    [
      binding("Group", { kind: "Robot", name: "u" }, { kind: "User", name: "u", apiGroup: "x" }),
      [
        'NotSupported roleRef.kind = "Group": supported values: "Role", "ClusterRole"',
        'NotSupported subjects[0].kind = "Robot": supported values: "ServiceAccount", "User", ' +
          '"Group"',
        `NotSupported subjects[1].apiGroup = "x": supported values: "${group}"`,
      ],
    ],
  ],
  binding("Role"),
  [
    [
      binding("ClusterRole"),
      [
        `Invalid roleRef = {"APIGroup":"${group}","Kind":"ClusterRole","Name":"r"}: cannot ` +
          "change roleRef",
      ],
    ],
  ],
);
table(clusterRoleBinding, [
  [
    binding("ClusterRole", { kind: "ServiceAccount", name: "s" }),
    ["Required subjects[0].namespace"],
  ],
  // kube-apiserver 1.34.9 stores the namespace of a user or group, and ignores it.
  [binding("ClusterRole", lost, { ...lost, kind: "Group" }), []],
]);

table(podDisruptionBudget, [
  [{}, []],
  [{ spec: { minAvailable: "100%" } }, []],
  [
    { spec: { minAvailable: "101%", maxUnavailable: -1 } },
    [
      'Invalid spec = {"MinAvailable":"101%","Selector":null,"MaxUnavailable":-1,' +
        '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
      'Invalid spec.minAvailable = "101%": must not be greater than 100%',
      "Invalid spec.maxUnavailable = -1: must be greater than or equal to 0",
    ],
  ],
]);

describe("rows", () => {
  const row = (kind: Kind, sketch: Sketch) =>
    kind.row(created(kind, sketch).object, { now: 0 }).slice(1);
  it("of bindings contain the subjects", () => {
    const account = { kind: "ServiceAccount", name: "s", namespace: "n" };
    const users = ["u", "v"].map((name) => ({ kind: "User", name }));
    assert.deepEqual(row(clusterRoleBinding, binding("ClusterRole", ...users, account)), [
      "ClusterRole/r",
      "<unknown>",
      "u, v",
      "",
      "n/s",
    ]);
  });
  it("of ControllerRevisions contain the controller", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "w", uid: "u" };
    const metadata = { ownerReferences: [{ ...owner, controller: true }] };
    assert.equal(row(controllerRevision, { metadata, revision: 1 })[0], "statefulset.apps/w");
  });
  it("of CSIDrivers contain their settings", () => {
    assert.deepEqual(row(csiDriver, { spec: { tokenRequests: [{ audience: "x" }] } }).slice(0, 6), [
      true,
      false,
      false,
      "x",
      false,
      "Persistent",
    ]);
  });
  it("mark the default StorageClass", () => {
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    const { object } = created(storageClass, { metadata: { annotations }, provisioner: "p" });
    assert.equal(storageClass.row(object, { now: 0 })[0], "x (default)");
  });
});

describe("CSIDriver generation", () => {
  it("counts changes from 0", () => {
    const first = created(csiDriver, {});
    assert.equal(first.object.metadata.generation, undefined);
    const second = updated(csiDriver, first, { spec: { podInfoOnMount: true } });
    assert.equal(second.object.metadata.generation, 1);
    const labels = { metadata: { labels: { a: "b" } }, spec: { podInfoOnMount: true } };
    assert.equal(updated(csiDriver, second, labels).object.metadata.generation, 1);
  });
});

describe("CSIDriver nodeAllocatableUpdatePeriodSeconds", () => {
  const write = { gates: ["MutableCSINodeAllocatableCount"] };
  const sketch = (seconds: number) => ({ spec: { nodeAllocatableUpdatePeriodSeconds: seconds } });
  it("must be at least 10 on create and update", () => {
    const first = created(csiDriver, sketch(10), write);
    assert.deepEqual(first.complaints, []);
    for (const seconds of [9, 0, -9]) {
      const expected = [
        `Invalid spec.nodeAllocatableUpdatePeriodSeconds = ${seconds}: must be greater than or ` +
          "equal to 10 seconds",
      ];
      assert.deepEqual(created(csiDriver, sketch(seconds), write).complaints, expected);
      assert.deepEqual(updated(csiDriver, first, sketch(seconds), write).complaints, expected);
    }
  });
});
