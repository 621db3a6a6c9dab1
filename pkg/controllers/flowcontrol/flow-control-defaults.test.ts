import assert from "node:assert/strict";
import { internalError } from "#meta";
import { type Registry } from "#registry";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { contextOn } from "../testing.ts";
import { ensureFlowControlDefaults, runFlowControlDefaults } from "./flow-control-defaults.ts";

const levels = "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const schemas = "flowcontrol.apiserver.k8s.io/v1/flowschemas";

const handles = {
  flowSchemas: {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    plural: "flowschemas",
    kind: "FlowSchema",
    namespaced: false,
  },
};

describe("flow control defaults", () => {
  let test: TestRegistry;
  let life: AbortController;
  const reports: string[] = [];
  beforeEach(async () => {
    test = await testRegistry();
    life = new AbortController();
    reports.length = 0;
  });
  afterEach(() => life.abort());

  const access = (registry: Registry = test.registry) => ({
    registry,
    catalog: test.catalog,
    clock: test.clock,
    signal: life.signal,
    report: (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`),
  });

  it("creates all defaults, and restores their spec if auto-update is enabled", async () => {
    await ensureFlowControlDefaults(access());
    assert.ok((await test.names(levels)).includes("catch-all"));
    assert.ok((await test.names(schemas)).includes("probes"));
    await test.patch(`${levels}//system`, { spec: { limited: { nominalConcurrencyShares: 7 } } });
    await test.remove(`${schemas}//probes`);
    await ensureFlowControlDefaults(access());
    const { spec } = (await test.get(`${levels}//system`)).object;
    assert.equal(spec.limited.nominalConcurrencyShares, 30);
    assert.ok((await test.names(schemas)).includes("probes"));
  });

  it("does not update an object with auto-update annotation false", async () => {
    await ensureFlowControlDefaults(access());
    await test.patch(`${levels}//system`, {
      metadata: { annotations: { "apf.kubernetes.io/autoupdate-spec": "false" } },
      spec: { limited: { nominalConcurrencyShares: 7 } },
    });
    await ensureFlowControlDefaults(access());
    const { spec } = (await test.get(`${levels}//system`)).object;
    assert.equal(spec.limited.nominalConcurrencyShares, 7);
  });

  it("restores a deleted mandatory object immediately", async () => {
    await ensureFlowControlDefaults(access());
    const { informers } = contextOn(access());
    const running = runFlowControlDefaults(access(), informers);
    await informers.of(handles.flowSchemas).untilSynced();
    await test.remove(`${schemas}//exempt`);
    for (let tries = 0; !(await test.names(schemas)).includes("exempt"); tries++) {
      assert.ok(tries < 2400, "it was never restored");
      test.clock.advance(10);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    life.abort();
    await running;
  });

  it("parses the annotation as Go parses booleans", async () => {
    await ensureFlowControlDefaults(access());
    const sharesWith = async (said: string) => {
      await test.patch(`${levels}//system`, {
        metadata: { annotations: { "apf.kubernetes.io/autoupdate-spec": said } },
        spec: { limited: { nominalConcurrencyShares: 7 } },
      });
      await ensureFlowControlDefaults(access());
      const { metadata, spec } = (await test.get(`${levels}//system`)).object;
      const kept = metadata.annotations["apf.kubernetes.io/autoupdate-spec"];
      return [spec.limited.nominalConcurrencyShares, kept];
    };
    assert.deepEqual(await sharesWith("T"), [30, "T"]);
    assert.deepEqual(await sharesWith("0"), [7, "0"]);
    assert.deepEqual(await sharesWith("perhaps"), [7, "false"]);
  });

  it("reports a failed round, and succeeds in the next", async () => {
    let failing = true;
    const registry: Registry = Object.assign(Object.create(test.registry) as Registry, {
      list: (...words: Parameters<Registry["list"]>) =>
        failing ? Promise.reject(internalError("injected")) : test.registry.list(...words),
    });
    const running = runFlowControlDefaults(access(registry), contextOn(access(registry)).informers);
    const until = async (what: () => Promise<boolean>) => {
      for (let tries = 0; !(await what()); tries++) {
        assert.ok(tries < 2400, "never came to that");
        test.clock.advance(10_000);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    await until(async () => reports.length > 0);
    assert.match(reports[0] ?? "", /injected/);
    failing = false;
    await until(async () => (await test.names(schemas)).includes("probes"));
    life.abort();
    await running;
  });
});
