import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { runResourceQuotaController } from "./resource-quota-controller.ts";

const quota = "v1/resourcequotas/ns/q";
const hard = { configmaps: "5", "requests.cpu": "2" };

describe("resourcequota-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => {
    const options = { quotaWorkers: 2, quotaResyncMs: 300_000 };
    run = await startController((context) => runResourceQuotaController(context, options));
    await run.test.post("v1/configmaps/ns", { metadata: { name: "a" } });
    await run.test.post("v1/configmaps/ns", { metadata: { name: "b" } });
  });
  afterEach(() => run.stop());

  const usedIs = (configmaps: string, cpu: string) => async (): Promise<boolean> => {
    const { status } = (await run.test.get(quota)).object;
    return status?.used?.configmaps === configmaps && status.used["requests.cpu"] === cpu;
  };
  const makeQuota = () =>
    run.test.post("v1/resourcequotas/ns", { metadata: { name: "q" }, spec: { hard } });
  const pod = (cpu: string) => ({
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] },
  });

  it("counts objects and requests, and enforces the limits", async () => {
    await run.test.post("v1/pods/ns", pod("750m"));
    await makeQuota();
    await run.until(usedIs("2", "750m"));
    assert.deepEqual((await run.test.get(quota)).object.status.hard, hard);
  });

  it("lowers the usage after deletions, and when a pod terminates", async () => {
    await run.test.post("v1/pods/ns", pod("1"));
    await makeQuota();
    await run.until(usedIs("2", "1"));
    await run.test.remove("v1/configmaps/ns/a");
    await run.until(usedIs("1", "1"));
    await run.test.patch("v1/pods/ns/p/status", { status: { phase: "Succeeded" } });
    await run.until(usedIs("1", "0"));
  });

  it("does not recalculate when an object changes of which only the number counts", async () => {
    await makeQuota();
    await run.until(usedIs("2", "0"));
    await new Promise((resolve) => setTimeout(resolve, 250));
    const before = run.calls("list", "configmaps");
    await run.test.patch("v1/configmaps/ns/a", { data: { key: "value" } });
    await new Promise((resolve) => setTimeout(resolve, 250));
    assert.equal(run.calls("list", "configmaps"), before);
  });

  it("retries when the status cannot be written", async () => {
    run.failNext("update", "resourcequotas", 2);
    await makeQuota();
    await run.until(usedIs("2", "0"));
    assert.ok(run.calls("update", "resourcequotas") >= 3);
  });

  it("keeps the previous usage of resources that cannot be listed, and counts them later", async () => {
    await makeQuota();
    await run.until(usedIs("2", "0"));
    run.failNext("list", "configmaps", 4);
    await run.test.remove("v1/configmaps/ns/a");
    await run.until(usedIs("1", "0"));
    assert.match(run.reports.join("\n"), /injected/);
  });
});
