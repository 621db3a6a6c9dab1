import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import type { RequestInfo, SelectorTerm, User } from "#request";
import { NodeAuthorizer } from "./node-authorizer.ts";

const node: User = {
  name: "system:node:n1",
  uid: "",
  groups: ["system:nodes", "system:authenticated"],
  extra: new Map(),
};

/** `get secrets ns/s`, `list pods`, `create serviceaccounts/token ns/app`. */
function asked(text: string): RequestInfo {
  const [verb = "", what = "", place = ""] = text.split(" ");
  const [named = "", subresource = ""] = what.split("/");
  const [, resource = "", group = ""] = /^(\w+)\.?(.*)$/.exec(named) ?? [];
  const [namespace = "", name = ""] = place.includes("/") ? place.split("/") : ["", place];
  const common = { isResource: true, path: "", apiPrefix: "api", version: "v1", rest: [] };
  return { ...common, group, verb, resource, subresource, namespace, name };
}

const pod = {
  metadata: { namespace: "ns", name: "p" },
  status: {
    resourceClaimStatuses: [{ name: "made", resourceClaimName: "p-made-x" }],
    extendedResourceClaimStatus: { resourceClaimName: "p-extended" },
  },
  spec: {
    nodeName: "n1",
    nodeSelector: { secretName: "no-reference" },
    resourceClaims: [
      { name: "named", resourceClaimName: "devices" },
      { name: "made", resourceClaimTemplateName: "template" },
    ],
    serviceAccountName: "app",
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      {
        env: [{ valueFrom: { secretKeyRef: { name: "env", key: "k" } } }],
        envFrom: [{ configMapRef: { name: "settings" } }],
      },
    ],
    volumes: [
      { name: "a", secret: { secretName: "volume" } },
      { name: "b", projected: { sources: [{ secret: { name: "projected" } }] } },
      { name: "c", persistentVolumeClaim: { claimName: "claim" } },
    ],
  },
};
const volume = {
  metadata: { name: "pv" },
  spec: {
    claimRef: { namespace: "ns", name: "claim" },
    csi: {
      nodePublishSecretRef: { namespace: "ns", name: "mount" },
      controllerPublishSecretRef: { namespace: "ns", name: "attach" },
    },
  },
};

function authorizer(): NodeAuthorizer {
  const rules = [
    { verbs: ["list"], apiGroups: [""], resources: ["services"] },
    { verbs: ["get", "list"], apiGroups: [""], resources: ["nodes"] },
    {
      verbs: ["create", "get", "list", "watch"],
      apiGroups: ["certificates.k8s.io"],
      resources: ["podcertificaterequests"],
    },
  ];
  const made = new NodeAuthorizer({ domain: kubernetes, rules });
  const index = (plural: string) => made.followed().find((each) => each.plural === plural)!.index;
  index("pods").set(pod);
  index("persistentvolumes").set(volume);
  index("resourceslices").set({ metadata: { name: "own" }, spec: { nodeName: "n1" } });
  index("resourceslices").set({ metadata: { name: "other" }, spec: { nodeName: "n2" } });
  return made;
}

async function may(text: string, fieldTerms: readonly SelectorTerm[] = [], user = node) {
  const decision = await authorizer().authorize({ user, request: asked(text), fieldTerms });
  return decision.verdict === "allow" ? "yes" : decision.reason;
}

describe("NodeAuthorizer", () => {
  for (const name of ["pull", "env", "volume", "projected", "mount"]) {
    it(`allows a node to get the Secret ${name} of its pod`, async () => {
      assert.equal(await may(`get secrets ns/${name}`), "yes");
    });
  }

  const none = "no relationship found between node 'n1' and this object";
  const tokensOnly = "can only create tokens for individual service accounts";
  const certificates = "podcertificaterequests.certificates.k8s.io";
  const cases: readonly (readonly [string, string])[] = [
    ["get configmaps ns/settings", "yes"],
    ["get persistentvolumeclaims ns/claim", "yes"],
    ["get persistentvolumes pv", "yes"],
    ["get serviceaccounts ns/app", "yes"],
    ["create serviceaccounts/token ns/app", "yes"],
    ["get pods ns/p", "yes"],
    ["get nodes n1", "yes"],
    ["list services", "yes"],
    ["get resourceclaims.resource.k8s.io ns/devices", "yes"],
    ["get resourceclaims.resource.k8s.io ns/p-made-x", "yes"],
    ["get resourceclaims.resource.k8s.io ns/p-extended", "yes"],
    ["get resourceclaims.resource.k8s.io ns/template", none],
    ["create resourceslices.resource.k8s.io", "yes"],
    ["update resourceslices.resource.k8s.io own", "yes"],
    ["delete resourceslices.resource.k8s.io other", none],
    [
      "deletecollection resourceslices.resource.k8s.io",
      "can only list/watch/deletecollection resourceslices with nodeName field selector",
    ],
    ["get secrets ns/other", none],
    ["get secrets ns/attach", none],
    ["get secrets ns/no-reference", none],
    ["get secrets other/env", none],
    ["create serviceaccounts/token ns/default", none],
    ["get pods ns/q", none],
    ["list secrets", "can only read namespaced object of this type"],
    ["update secrets ns/env", "can only read resources of this type"],
    ["get nodes n2", "node 'n1' cannot read 'n2', only its own Node object"],
    ["list nodes", "node 'n1' cannot read all nodes, only its own Node object"],
    ["list pods", "can only list/watch pods with spec.nodeName field selector"],
    ["delete services", ""],
    ["get persistentvolumeclaims/status ns/claim", "can only get/update/patch this type"],
    ["patch persistentvolumeclaims/status ns/claim", "yes"],
    ["create serviceaccounts/token ns/", tokensOnly],
    ["list serviceaccounts ns/", tokensOnly],
    ["delete serviceaccounts ns/app", tokensOnly],
    ["get serviceaccounts/token ns/app", tokensOnly],
    ["create serviceaccounts ns/app", "can only create token subresource of serviceaccount"],
    ["create serviceaccounts/x ns/app", "can only create token subresource of serviceaccount"],
    [`create ${certificates} ns/`, "yes"],
    [`delete ${certificates} ns/a`, "nodes may not delete podcertificaterequests"],
    [
      `list ${certificates} ns/`,
      "can only list/watch podcertificaterequests with nodeName field selector",
    ],
    [
      "update podcertificaterequests.certificates.k8s.io/status ns/a",
      "nodes may not access the status subresource of PodCertificateRequests",
    ],
  ];
  for (const [text, answer] of cases) {
    it(`${answer === "yes" ? "allows" : "does not allow"} ${text}`, async () => {
      assert.equal(await may(text), answer);
    });
  }

  it("allows a node to list only its own pods", async () => {
    const term = (value: string) =>
      [{ key: "spec.nodeName", operator: "In", values: [value] }] as const;
    assert.equal(await may("list pods", term("n1")), "yes");
    assert.notEqual(await may("list pods", term("n2")), "yes");
    const slices = "deletecollection resourceslices.resource.k8s.io";
    assert.equal(await may(slices, term("n1")), "yes");
  });

  it("has no opinion on other users", async () => {
    assert.equal(await may("get secrets ns/env", [], { ...node, groups: [] }), "");
    assert.equal(await may("get secrets ns/env", [], { ...node, name: "n1" }), "");
    const unknown = 'unknown node for user "system:node:"';
    assert.equal(await may("get secrets ns/env", [], { ...node, name: "system:node:" }), unknown);
  });

  it("drops references of deleted pods", async () => {
    const made = authorizer();
    const { index } = made.followed().find(({ plural }) => plural === "pods")!;
    index.delete("ns/p");
    for (const text of ["get secrets ns/env", "get secrets ns/mount", "get persistentvolumes pv"]) {
      const { verdict } = await made.authorize({ user: node, request: asked(text) });
      assert.equal(verdict, "no-opinion", text);
    }
  });
});
