import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { ensureLocalApiServices } from "./local-api-services.ts";

const services = "apiregistration.k8s.io/v1/apiservices";
const label = "kube-aggregator.kubernetes.io/automanaged";

describe("local APIServices", () => {
  let test: TestRegistry;
  const { signal } = new AbortController();
  const ensure = () =>
    ensureLocalApiServices({
      ...test,
      signal,
      report: (what, error) => assert.fail(`${what}: ${String(error)}`),
    });
  beforeEach(async () => {
    test = await testRegistry();
    await ensure();
  });

  it("are created for every served version, and restored", async () => {
    const names = await test.names(services);
    for (const name of ["v1.", "v1.apps", "v1.batch"]) assert.ok(names.includes(name), name);
    const { spec } = (await test.get(`${services}//v1.batch`)).object;
    await test.remove(`${services}//v1.apps`);
    await test.patch(`${services}//v1.batch`, { spec: { versionPriority: 3 } });
    await ensure();
    assert.ok((await test.names(services)).includes("v1.apps"));
    assert.deepEqual((await test.get(`${services}//v1.batch`)).object.spec, spec);
  });

  it("are deleted when the version is no longer served, unless they lack the label", async () => {
    const old = { metadata: { name: "v1.old.example.com", labels: { [label]: "onstart" } } };
    const spec = {
      group: "old.example.com",
      version: "v1",
      groupPriorityMinimum: 1,
      versionPriority: 1,
    };
    await test.post(services, { ...old, spec });
    const taken = { metadata: { labels: { [label]: null } }, spec: { versionPriority: 3 } };
    await test.patch(`${services}//v1.batch`, taken);
    await ensure();
    assert.ok(!(await test.names(services)).includes("v1.old.example.com"));
    assert.equal((await test.get(`${services}//v1.batch`)).object.spec.versionPriority, 3);
  });
});
