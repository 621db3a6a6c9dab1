import assert from "node:assert/strict";
import { refusal, testRegistry } from "../testing.ts";

describe("bodies in removed versions", () => {
  const rows: readonly (readonly [path: string, version: string, kind: string])[] = [
    ["apps/v1/deployments/ns", "apps/v1beta1", "Deployment"],
    ["apps/v1/deployments/ns", "extensions/v1beta1", "Deployment"],
    ["networking.k8s.io/v1/ingresses/ns", "extensions/v1beta1", "Ingress"],
    ["networking.k8s.io/v1/ingresses/ns", "networking.k8s.io/v1beta1", "Ingress"],
    ["batch/v1/cronjobs/ns", "batch/v1beta1", "CronJob"],
    [
      "autoscaling/v2/horizontalpodautoscalers/ns",
      "autoscaling/v2beta2",
      "HorizontalPodAutoscaler",
    ],
    ["policy/v1/poddisruptionbudgets/ns", "policy/v1beta1", "PodDisruptionBudget"],
    ["rbac.authorization.k8s.io/v1/roles/ns", "rbac.authorization.k8s.io/v1beta1", "Role"],
  ];
  for (const [path, apiVersion, kind] of rows) {
    it(`are rejected for their version: ${kind} of ${apiVersion}`, async () => {
      const api = await testRegistry();
      const expected = path.split("/").slice(0, 2).join("/");
      assert.equal(
        await refusal(api.post(path, { apiVersion, kind, metadata: { name: "a" } })),
        `400 BadRequest the API version in the data (${apiVersion}) does not match ` +
          `the expected API version (${expected})`,
      );
    });
  }

  it("are rejected as not convertible if the kind is another one", async () => {
    const api = await testRegistry();
    const body = { apiVersion: "apps/v1beta1", kind: "Deployment", metadata: { name: "a" } };
    assert.match(
      await refusal(api.post("v1/configmaps/ns", body)),
      /converting \(v1beta1.Deployment\) to \(core.ConfigMap\): unknown conversion/,
    );
  });
});
