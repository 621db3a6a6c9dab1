/** Another text of an equal value is stored, but neither moves the generation nor is a change. */
import assert from "node:assert/strict";
import { refusal, testRegistry, type TestRegistry } from "../testing.ts";

const labels = { app: "a" };

const podSpec = (memory: string, rest: object = {}) => ({
  containers: [{ name: "c", image: "i", resources: { requests: { memory } } }],
  ...rest,
});

const workload = (memory: string) => ({
  metadata: { name: "x" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: podSpec(memory) },
  },
});

const withClaim = (storage: string) => ({
  metadata: { name: "x" },
  spec: {
    ...workload("1Gi").spec,
    serviceName: "s",
    volumeClaimTemplates: [
      {
        metadata: { name: "d" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
      },
    ],
  },
});

describe("semantic equality of stored objects", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
  });
  const replaced = async (resource: string, first: object, second: object) => {
    await test.post(`${resource}/ns`, first);
    await test.put(`${resource}/ns/x`, second);
    return (await test.get(`${resource}/ns/x`)).object;
  };
  const memoryOf = ({ spec }: any): string =>
    spec.template.spec.containers[0].resources.requests.memory;

  for (const resource of ["deployments", "daemonsets", "statefulsets", "replicasets"]) {
    it(`stores an equal quantity of ${resource} without a new generation`, async () => {
      const path = `apps/v1/${resource}`;
      const object = await replaced(path, workload("1Gi"), workload("1073741824"));
      assert.equal(memoryOf(object), "1073741824");
      assert.equal(object.metadata.generation, 1);
      await test.put(`${path}/ns/x`, workload("2Gi"));
      const changed = (await test.get(`${path}/ns/x`)).object;
      assert.deepEqual([memoryOf(changed), changed.metadata.generation], ["2Gi", 2]);
    });
  }

  it("keeps the template generation of a DaemonSet", async () => {
    const object = await replaced("apps/v1/daemonsets", workload("1k"), workload("1e3"));
    const annotation = "deprecated.daemonset.template.generation";
    assert.equal(object.metadata.annotations[annotation], "1");
  });

  it("moves the generation when a pointer to a zero value comes or goes", async () => {
    const priced = workload("1Gi");
    const zero = { ...priced, spec: { ...priced.spec, revisionHistoryLimit: 0 } };
    const object = await replaced("apps/v1/deployments", priced, zero);
    assert.equal(object.metadata.generation, 2);
  });

  it("treats an empty list as an absent one", async () => {
    const empty = workload("1Gi");
    Object.assign(empty.spec.template.spec, { tolerations: [], hostAliases: null });
    const object = await replaced("apps/v1/deployments", workload("1Gi"), empty);
    assert.equal(object.metadata.generation, 1);
  });

  it("takes an equal quantity where the spec is immutable", async () => {
    await replaced("apps/v1/statefulsets", withClaim("1Gi"), withClaim("1073741824"));
    const other = test.put("apps/v1/statefulsets/ns/x", withClaim("2Gi"));
    assert.match(await refusal(other), /^422 Invalid .*updates to statefulset spec/);
    const pod = (memory: string) => ({ metadata: { name: "x" }, spec: podSpec(memory) });
    await replaced("v1/pods", pod("1Gi"), pod("1073741824"));
    const grown = test.put("v1/pods/ns/x", pod("2Gi"));
    assert.match(await refusal(grown), /^422 Invalid .*pod updates may not change fields/);
  });
});
