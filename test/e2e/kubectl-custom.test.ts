/** What users do with custom resources through kubectl, and controllers through client-node. */
import assert from "node:assert/strict";
import { CustomObjectsApi, KubeConfig, Watch } from "@kubernetes/client-node";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { Kubectl } from "./kubectl.ts";

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: farms.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: farms, kind: Farm, shortNames: [fm], categories: [all] }
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: { specReplicasPath: .spec.cows, statusReplicasPath: .status.cows }
    additionalPrinterColumns:
    - { name: Cows, type: integer, jsonPath: .spec.cows }
    - { name: Phase, type: string, jsonPath: .status.phase }
    schema:
      openAPIV3Schema:
        description: A farm with animals.
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - { rule: "self.cows < 100", message: too many cows }
            properties:
              cows: { type: integer, description: How many cows there are., default: 1 }
          status:
            type: object
            properties:
              cows: { type: integer }
              phase: { type: string }
              conditions:
                type: array
                items: { type: object, x-kubernetes-preserve-unknown-fields: true }
`;
const farm = (name: string, cows: number): string =>
  `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"${name}"},` +
  `"spec":{"cows":${cows}}}`;

describe("custom resources through clients", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ port: 0, controllers: false });
  });
  after(() => server.close());

  it("kubectl installs, explains, applies, scales, waits and deletes", async function () {
    if (!Kubectl.isThere) this.skip();
    using kubectl = new Kubectl(server.kubeconfig);
    await kubectl.ok("apply -f -", definition);
    await kubectl.ok("wait --for=condition=Established crd/farms.example.com --timeout=10s");
    assert.match(await kubectl.ok("explain farms.spec.cows"), /How many cows there are\./);
    assert.match(await kubectl.ok("apply -f -", farm("a", 3)), /farm\.example\.com\/a created/);
    assert.match(await kubectl.ok("apply -f -", farm("a", 3)), /unchanged/);
    assert.match(await kubectl.ok("apply --server-side -f -", farm("b", 4)), /serverside-applied/);
    await kubectl.ok("scale farm a --replicas=7");
    const status = '{"status":{"phase":"Open","conditions":[{"type":"Ready","status":"True"}]}}';
    await kubectl.ok(`patch fm a --subresource=status --type=merge -p ${status}`);
    await kubectl.ok("wait --for=condition=Ready farm/a --timeout=10s");
    const rows = (await kubectl.ok("get all --no-headers=true")).split("\n");
    const row = rows.find((line) => line.startsWith("farm.example.com/a"));
    assert.match(row ?? "", /^\S+\s+7\s+Open\s*$/);
    const refused = await kubectl.attempt("apply -f -", farm("c", 500));
    assert.match(refused.error, /too many cows/);
    await kubectl.ok("delete crd farms.example.com --timeout=20s");
    assert.match((await kubectl.attempt("get farms")).error, /NotFound|resource type "farms"/);
  });

  it("a controller written with client-node brings objects in line", async () => {
    const config = new KubeConfig();
    config.loadFromString(server.kubeconfig);
    const api = config.makeApiClient(CustomObjectsApi);
    const place = { group: "example.com", version: "v1", namespace: "default", plural: "farms" };
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const headers = { "content-type": "application/yaml" };
    await server.fetch(path, { method: "POST", headers, body: definition });
    while ((await server.fetch("/apis/example.com/v1/farms")).status !== 200) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const reconcile = async ({ metadata, spec, status }: any): Promise<void> => {
      if (status?.cows === spec.cows) return;
      const body = [{ op: "add", path: "/status", value: { cows: spec.cows, phase: "Settled" } }];
      await api.patchNamespacedCustomObjectStatus({ ...place, name: metadata.name, body });
    };
    const failures: unknown[] = [];
    const changed = (_type: string, object: object): void => {
      reconcile(object).catch((error: unknown) => failures.push(error));
    };
    const watched = "/apis/example.com/v1/namespaces/default/farms";
    const watch = await new Watch(config).watch(watched, {}, changed, () => undefined);
    await api.createNamespacedCustomObject({ ...place, body: JSON.parse(farm("kept", 2)) });
    const settled = async (cows: number): Promise<void> => {
      for (let tries = 0; tries < 3000; tries++) {
        const found: any = await api.getNamespacedCustomObject({ ...place, name: "kept" });
        if (found.status?.cows === cows) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.fail(`the controller did nothing: ${String(failures)}`);
    };
    await settled(2);
    const body = [{ op: "replace", path: "/spec/cows", value: 9 }];
    await api.patchNamespacedCustomObject({ ...place, name: "kept", body });
    await settled(9);
    watch.abort();
  });
});
