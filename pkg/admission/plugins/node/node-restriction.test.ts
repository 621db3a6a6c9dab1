import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { systemClock } from "#base";
import { Catalog, domainOf, StatusError } from "#meta";
import type { AdmissionAttributes, Registry } from "#registry";
import type { Authorizer } from "#request";
import { createAdmission } from "../../admission.ts";

const catalog = new Catalog(builtinKinds, domainOf(), () => true);

/** What the store has, by plural and name. */
const stored: Readonly<Record<string, object>> = {
  "nodes n1": { metadata: { name: "n1", uid: "node-uid" } },
  "pods mine": {
    metadata: { name: "mine", namespace: "ns", uid: "mine-uid" },
    spec: {
      nodeName: "n1",
      volumes: [
        { name: "a", projected: { sources: [{ serviceAccountToken: { audience: "vault" } }] } },
        { name: "b", persistentVolumeClaim: { claimName: "claim" } },
      ],
    },
  },
  "pods other": {
    metadata: { name: "other", namespace: "ns", uid: "other-uid" },
    spec: { nodeName: "n2" },
  },
  "persistentvolumeclaims claim": { spec: { volumeName: "volume" } },
  "persistentvolumes volume": { spec: { csi: { driver: "disk" } } },
  "csidrivers disk": { spec: { tokenRequests: [{ audience: "of-disk" }] } },
};
const registry = {
  cached: () => undefined,
  get: async ({ resource, name }: any) => {
    const object = stored[`${resource.plural} ${name}`];
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" } as const;
    if (object === undefined) throw new StatusError({ ...status, code: 404 });
    return { object };
  },
} as unknown as Registry;

const authorizer: Authorizer = {
  authorize: async ({ request: { resource, name } }) => ({
    verdict: resource === "granted" && name === "app" ? "allow" : "no-opinion",
    reason: "",
  }),
};

interface Write {
  readonly object?: object;
  readonly old?: object;
  readonly user?: string;
}

/** `create nodes n1`, `update pods/status ns/mine`; answers the objection, "" = none. */
async function objection(text: string, { object, old, user }: Write = {}): Promise<string> {
  const [operation = "", what = "", place = ""] = text.split(" ");
  const [plural = "", subresource = ""] = what.split("/");
  const resource = catalog.resources.find((each) => each.plural === plural);
  const [namespace = "", name = ""] = place.includes("/") ? place.split("/") : ["", place];
  const { mutating } = createAdmission({
    catalog,
    registry: () => registry,
    gates: (gate) => gate === "ServiceAccountNodeAudienceRestriction",
    authorizer,
    clock: systemClock,
    plugins: new Set(["NodeRestriction"]),
  });
  const attributes = {
    request: {
      resource: resource!,
      namespace,
      name,
      subresource,
      user: { name: user ?? "system:node:n1", uid: "", groups: ["system:nodes"], extra: new Map() },
      context: new AbortController(),
      userAgent: "",
    },
    operation: operation as AdmissionAttributes["operation"],
    dryRun: false,
    object,
    old,
  };
  try {
    await mutating(attributes);
    return "";
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error.status.message!.replace(/^.* is forbidden: /, "");
  }
}

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true };
const mirror = (spec: object = {}, metadata: object = {}) => ({
  metadata: {
    name: "static",
    annotations: { "kubernetes.io/config.mirror": "x" },
    ownerReferences: [owner],
    ...metadata,
  },
  spec: { nodeName: "n1", containers: [], ...spec },
});
const node = (metadata: object = {}, spec: object = {}) => ({
  metadata: { name: "n1", ...metadata },
  spec,
});
const token = (name: string, audiences: readonly string[] = [], uid = `${name}-uid`) => ({
  metadata: {},
  spec: { audiences, boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } },
});
const only = 'node "n1" can only create pods';
const cannot = 'node "n1" can not create pods that reference';
const zone = { "topology.kubernetes.io/zone": "z", "node.kubernetes.io/x": "y", own: "" };
const restricted = { "a.node-restriction.kubernetes.io/b": "c", "x.k8s.io/y": "z" };
const sliced = (nodeName: string) => ({ metadata: { name: "s" }, spec: { nodeName } });
const claim = (status: object, labels: object = {}) => ({ metadata: { labels }, spec: {}, status });

describe("what nodes may write", () => {
  const cases: readonly (readonly [string, Write, string])[] = [
    ["update configmaps ns/c", {}, ""],
    ["create pods ns", { object: { metadata: {} }, user: "somebody" }, ""],
    [
      "delete nodes n1",
      { user: "system:node:" },
      'could not determine node from user "system:node:"',
    ],
    ["create pods ns", { object: mirror() }, ""],
    [
      "create pods ns",
      { object: mirror({}, { annotations: {} }) },
      'pod does not have "kubernetes.io/config.mirror" annotation, ' +
        'node "n1" can only create mirror pods',
    ],
    [
      "create pods ns",
      { object: mirror({ nodeName: "n2" }) },
      `${only} with spec.nodeName set to itself`,
    ],
    [
      "create pods ns",
      { object: mirror({}, { ownerReferences: [] }) },
      `${only} with an owner reference set to itself`,
    ],
    [
      "create pods ns",
      { object: mirror({}, { ownerReferences: [{ ...owner, controller: false }] }) },
      `${only} with a controller owner reference set to itself`,
    ],
    [
      "create pods ns",
      { object: mirror({}, { ownerReferences: [{ ...owner, uid: "x" }] }) },
      "node n1 UID mismatch: expected x got node-uid",
    ],
    [
      "create pods ns",
      { object: mirror({ serviceAccountName: "a" }) },
      `${cannot} a service account`,
    ],
    [
      "create pods ns",
      { object: mirror({ volumes: [{ name: "v", cephfs: { secretRef: { name: "s" } } }] }) },
      `${cannot} secrets`,
    ],
    [
      "create pods ns",
      { object: mirror({ containers: [{ envFrom: [{ configMapRef: { name: "c" } }] }] }) },
      `${cannot} configmaps`,
    ],
    ["create pods ns", { object: mirror({ resourceClaims: [{}] }) }, `${cannot} resourceclaims`],
    [
      "update pods ns/mine",
      { object: mirror(), old: mirror() },
      'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
    ],
    ["delete pods ns/mine", { old: mirror() }, ""],
    [
      "delete pods ns/other",
      { old: mirror({ nodeName: "n2" }) },
      'node "n1" can only delete pods with spec.nodeName set to itself',
    ],
    [
      "update pods/resize ns/mine",
      { object: mirror(), old: mirror() },
      "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed",
    ],
    ["update pods/status ns/mine", { object: mirror(), old: mirror() }, ""],
    [
      "update pods/status ns/mine",
      { object: mirror({}, { labels: { a: "b" } }), old: mirror() },
      'node "n1" cannot update labels through pod status',
    ],
    ["create pods/eviction ns/mine", {}, ""],
    [
      "create pods/eviction ns/other",
      {},
      "node n1 can only evict pods with spec.nodeName set to itself",
    ],
    ["create nodes ", { object: node({ labels: zone }) }, ""],
    [
      "create nodes ",
      { object: node({ labels: restricted }) },
      'node "n1" is not allowed to set the following labels: ' +
        "a.node-restriction.kubernetes.io/b, x.k8s.io/y",
    ],
    [
      "update nodes n2",
      { object: node(), old: node() },
      'node "n1" is not allowed to modify node "n2"',
    ],
    [
      "update nodes/status n1",
      { object: node({}, { taints: [{ key: "a" }] }), old: node() },
      'node "n1" is not allowed to modify taints',
    ],
    [
      "update nodes n1",
      { object: node({ ownerReferences: [owner] }), old: node() },
      'node "n1" is not allowed to modify ownerReferences',
    ],
    [
      "update nodes n1",
      { object: node(), old: node({ labels: restricted }) },
      "is not allowed to modify labels: a.node-restriction.kubernetes.io/b, x.k8s.io/y",
    ],
    [
      "update persistentvolumeclaims/status ns/c",
      { object: claim({ capacity: { storage: "1" } }), old: claim({ phase: undefined }) },
      "",
    ],
    [
      "update persistentvolumeclaims/status ns/c",
      { object: claim({}, { a: "b" }), old: claim({}) },
      'node "n1" is not allowed to update fields other than status.capacity and status.conditions',
    ],
    ["update persistentvolumeclaims ns/c", {}, "may only update PVC status"],
    ["create leases kube-node-lease/", { object: node() }, ""],
    [
      "update leases kube-node-lease/n2",
      {},
      "can only access node lease with the same name as the requesting node",
    ],
    ["update leases ns/n1", {}, 'can only access leases in the "kube-node-lease" system namespace'],
    ["delete csinodes n2", {}, "can only access CSINode with the same name as the requesting node"],
    ["create resourceslices ", { object: sliced("n1") }, ""],
    [
      "delete resourceslices s",
      { old: sliced("n2") },
      "can only delete ResourceSlice with the same NodeName as the requesting node",
    ],
    [
      "create podcertificaterequests ns",
      { object: { spec: { nodeName: "n1", podName: "mine", podUID: "mine-uid" } } },
      "",
    ],
    [
      "create podcertificaterequests ns",
      { object: { spec: { nodeName: "n1", podName: "other", podUID: "other-uid" } } },
      'pod "other" does not run on node "n1" as it is described',
    ],
    ["create serviceaccounts/token ns/app", { object: token("mine", ["vault"]) }, ""],
    ["create serviceaccounts/token ns/app", { object: token("mine", ["of-disk"]) }, ""],
    ["create serviceaccounts/token ns/app", { object: token("mine", ["granted"]) }, ""],
    [
      "create serviceaccounts/token ns/app",
      { object: token("mine", ["elsewhere"]) },
      'audience "elsewhere" not found in pod spec volume, ' +
        "system:node:n1 is not authorized to request tokens for this audience",
    ],
    [
      "create serviceaccounts/token ns/app",
      { object: token("mine", ["vault", "granted"]) },
      "node may only request 0 or 1 audiences",
    ],
    [
      "create serviceaccounts/token ns/app",
      { object: { metadata: {}, spec: {} } },
      "node requested token not bound to a pod",
    ],
    [
      "create serviceaccounts/token ns/app",
      { object: token("other") },
      "node requested token bound to a pod scheduled on a different node",
    ],
    ["create serviceaccounts/token ns/app", { object: token("gone") }, 'pods "gone" not found'],
  ];
  for (const [text, write, expected] of cases) {
    it(`${text}: ${expected === "" ? "yes" : expected}`, async () => {
      assert.equal(await objection(text, write), expected);
    });
  }
});
