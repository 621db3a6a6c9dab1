import assert from "node:assert/strict";
import { createAdmission, enabledPlugins } from "#admission";
import { builtinKinds } from "#api";
import { Catalog, domainOf } from "#meta";
import type { Registry } from "#registry";
import type { RequestInfo } from "#request";
import {
  refusal,
  type TestRegistry,
  TestClock,
  testRegistry,
} from "../../../pkg/registry/testing.ts";

describe("admission plugins that are switched on", () => {
  /** What is allowed: `delete configmaps/`, `update replicasets/finalizers`. */
  let rights: Set<string>;

  async function admitting(...enable: readonly string[]): Promise<TestRegistry> {
    rights = new Set();
    const late: { registry?: Registry } = {};
    const { mutating, validating } = createAdmission({
      catalog: new Catalog(builtinKinds, domainOf(), () => true),
      registry: () => late.registry!,
      gates: () => false,
      plugins: enabledPlugins({ enable, disable: ["ServiceAccount", "Priority"] }),
      clock: new TestClock(),
      authorizer: {
        authorize: async ({
          request: { verb, resource, subresource },
        }: {
          request: RequestInfo;
        }) => ({
          verdict: rights.has(`${verb} ${resource}/${subresource}`) ? "allow" : "no-opinion",
          reason: "",
        }),
      },
    });
    const test = await testRegistry({
      mutating: [mutating],
      validating: [validating],
      namespaces: [],
    });
    late.registry = test.registry;
    await test.post("v1/namespaces", { metadata: { name: "ns" } });
    return test;
  }
  const container = { name: "c", image: "a:1", imagePullPolicy: "IfNotPresent" };
  const pod = (spec: object = {}) => ({
    metadata: { name: "p" },
    spec: { containers: [container], ...spec },
  });
  const pods = "v1/pods/ns";

  it("have images pulled for every pod", async () => {
    const test = await admitting("AlwaysPullImages");
    const { item } = await test.post(pods, pod());
    assert.equal(item.object.spec.containers[0].imagePullPolicy, "Always");
  });

  it("refuse external addresses that a service has not had", async () => {
    const test = await admitting("DenyServiceExternalIPs");
    const service = (...externalIPs: readonly string[]) => ({
      metadata: { name: "s" },
      spec: { clusterIP: "None", ports: [{ port: 80 }], externalIPs },
    });
    const denied = /^403 .*Use of external IPs is denied by admission control\.$/;
    assert.match(await refusal(test.post("v1/services/ns", service("1.2.3.4"))), denied);
    await test.post("v1/services/ns", service());
  });

  it("keep pods apart by nodes only", async () => {
    const test = await admitting("LimitPodHardAntiAffinityTopology");
    const apart = (topologyKey: string) => {
      const term = { topologyKey, labelSelector: { matchLabels: { a: "b" } } };
      const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
      return pod({ affinity: { podAntiAffinity: required } });
    };
    assert.match(
      await refusal(test.post(pods, apart("zone"))),
      /has TopologyKey zone but only key kubernetes.io\/hostname is allowed$/,
    );
    await test.post(pods, apart("kubernetes.io/hostname"));
  });

  it("let pods tolerate the taints of devices that they ask for", async () => {
    const test = await admitting("ExtendedResourceToleration", "LimitRanger");
    const limits = { "example.com/gpu": "1", cpu: "1" };
    const { item } = await test.post(
      pods,
      pod({ containers: [{ ...container, resources: { limits } }] }),
    );
    const own = item.object.spec.tolerations.filter(({ key }: any) => key.includes("gpu"));
    assert.deepEqual(own, [{ key: "example.com/gpu", operator: "Exists" }]);
  });

  it("ask who may give objects owners, and hold these up", async () => {
    const test = await admitting("OwnerReferencesPermissionEnforcement");
    const maps = "v1/configmaps/ns";
    const owned = (more: object = {}) => ({
      metadata: {
        name: "m",
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", ...more },
        ],
      },
    });
    await test.post(maps, { metadata: { name: "m" } });
    assert.match(
      await refusal(test.put(`${maps}/m`, owned())),
      /cannot set an ownerRef on a resource you can't delete: , <nil>$/,
    );
    rights.add("delete configmaps/");
    await test.put(`${maps}/m`, owned());
    const blocking = owned({ blockOwnerDeletion: true });
    assert.match(await refusal(test.put(`${maps}/m`, blocking)), /set finalizers on: , <nil>$/);
    rights.add("update replicasets/finalizers");
    await test.put(`${maps}/m`, blocking);
    assert.match(
      await refusal(
        test.put(`${maps}/m`, owned({ kind: "Nothing", uid: "v", blockOwnerDeletion: true })),
      ),
      /cannot find RESTMapping for APIVersion apps\/v1 Kind Nothing: no matches for kind/,
    );
  });
});
