import assert from "node:assert/strict";
import { testRegistry } from "../../registry/testing.ts";
import { runSystemNamespaces } from "./system-namespaces.ts";

describe("system namespaces", () => {
  it("are restored within a minute, even after a failure", async () => {
    const test = await testRegistry({ namespaces: ["default", "mine"] });
    const life = new AbortController();
    const reports: string[] = [];
    let failures = 1;
    const create: typeof test.registry.create = (...words) =>
      failures-- > 0 ? Promise.reject(new Error("injected")) : test.registry.create(...words);
    const registry = Object.assign(Object.create(test.registry) as typeof test.registry, {
      create,
    });
    const report = (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`);
    const running = runSystemNamespaces({ ...test, registry, signal: life.signal, report });
    const system = ["default", "kube-node-lease", "kube-public", "kube-system"];
    const restored = async () => {
      for (let tries = 0; ; tries++) {
        test.clock.advance(60_000);
        const names = await test.names("v1/namespaces");
        if (system.every((name) => names.includes(name))) return;
        assert.ok(tries < 3000, names.join());
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    await restored();
    assert.match(reports.join(), /injected/);
    const path = "v1/namespaces//kube-node-lease";
    await test.remove(path);
    const { object } = await test.get(path);
    await test.put(`${path}/finalize`, { ...object, spec: { finalizers: [] } });
    await test.remove(path).catch(() => undefined);
    assert.ok(!(await test.names("v1/namespaces")).includes("kube-node-lease"));
    await restored();
    assert.equal(reports.length, 1);
    life.abort();
    await running;
  });
});
