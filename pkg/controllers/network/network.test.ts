/** The Service `kubernetes`, which each API server maintains. */
import assert from "node:assert/strict";
import { internalError } from "#meta";
import type { Registry } from "#registry";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { ensureKubernetesService, runKubernetesService } from "./kubernetes-service.ts";
import { runLeaseEndpointReconciler } from "./lease-endpoint-reconciler.ts";
import { runServiceIpRepair } from "./service-ip-repair.ts";

describe("network controllers", () => {
  let test: TestRegistry;
  let life: AbortController;
  let reports: string[];
  const running: Promise<unknown>[] = [];
  beforeEach(async () => {
    test = await testRegistry({ namespaces: ["default"] });
    life = new AbortController();
    reports = [];
  });
  afterEach(async () => {
    life.abort();
    await Promise.all(running.splice(0));
  });

  const report = (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`);
  const parts = () => ({ ...test, signal: life.signal, report });

  async function until(what: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; !(await what()); tries++) {
      assert.ok(tries < 3000, "never came to that");
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** The registry with the first calls of one verb failing. */
  function failing(verb: "create" | "repair", times: number): Registry {
    let left = times;
    const whole = test.registry as unknown as Record<string, (...words: unknown[]) => unknown>;
    const call = (...words: unknown[]) =>
      left-- > 0
        ? Promise.reject(internalError("injected"))
        : (whole[verb]?.(...words) ?? Promise.resolve({ conflicts: ["10.0.0.9"] }));
    return Object.assign(Object.create(test.registry) as Registry, { [verb]: call });
  }

  describe("the Service kubernetes", () => {
    const network = { cidrs: ["10.7.0.0/24"], nodePorts: { first: 30_000, last: 32_767 } };
    const ensure = () => ensureKubernetesService({ ...parts(), network, port: 7443 });

    it("is created with the first address of the Service CIDR, with a ready ServiceCIDR", async () => {
      await ensure();
      const { spec } = (await test.get("v1/services/default/kubernetes")).object;
      assert.deepEqual([spec.clusterIP, spec.ports[0].targetPort], ["10.7.0.1", 7443]);
      const cidr = (await test.get("networking.k8s.io/v1/servicecidrs//kubernetes")).object;
      assert.deepEqual(cidr.spec.cidrs, network.cidrs);
      assert.equal(cidr.status.conditions[0].type, "Ready");
    });

    it("is not changed by the next server, nor by one that starts concurrently", async () => {
      let done = false;
      const both = Promise.all([ensure(), ensure()]).finally(() => (done = true));
      // The slower one waits for what the faster one is writing.
      await until(async () => {
        test.clock.advance(50);
        return done;
      });
      await both;
      const before = (await test.get("v1/services/default/kubernetes")).object.metadata;
      await ensure();
      const after = (await test.get("v1/services/default/kubernetes")).object.metadata;
      assert.equal(after.resourceVersion, before.resourceVersion);
    });
  });

  it("the Service kubernetes and the default ServiceCIDR are restored within ten seconds", async () => {
    const network = { cidrs: ["10.7.0.0/24"], nodePorts: { first: 30_000, last: 32_767 } };
    const registry = failing("create", 1);
    const options = { ...parts(), registry, network, port: 7443 };
    running.push(runKubernetesService(options));
    const service = "v1/services/default";
    const cidrs = "networking.k8s.io/v1/servicecidrs";
    const isThere = async () => {
      const names = [...(await test.names(service)), ...(await test.names(cidrs))];
      return names.join() === "kubernetes,kubernetes";
    };
    const afterOneRound = async () => {
      test.clock.advance(10_000);
      return reports.length > 0 || isThere();
    };
    await until(afterOneRound);
    assert.match(reports.splice(0).join(), /injected/);
    await until(afterOneRound);
    assert.equal(reports.length, 0);
    for (let times = 0; times < 2; times++) {
      await test.remove(`${service}/kubernetes`);
      await test.remove(`${cidrs}//kubernetes`);
      assert.equal(await isThere(), false);
      await until(afterOneRound);
    }
    assert.deepEqual(reports, []);
  });

  describe("the endpoints of the Service kubernetes", () => {
    const addresses = async (): Promise<string> => {
      const names = await test.names("v1/endpoints/default");
      if (!names.includes("kubernetes")) return "";
      const { subsets = [] } = (await test.get("v1/endpoints/default/kubernetes")).object;
      return (subsets[0]?.addresses ?? []).map(({ ip }: { ip: string }) => ip).join();
    };
    const start = (address: string, registry = test.registry, signal = life.signal) => {
      const options = { ...parts(), registry, address, port: 6443, signal };
      const work = runLeaseEndpointReconciler(options);
      running.push(work);
      return work;
    };

    it("list every server in Endpoints and EndpointSlice until it shuts down", async () => {
      void start("10.1.1.1");
      await until(async () => (await addresses()) === "10.1.1.1");
      const second = new AbortController();
      const leaving = start("10.1.1.2", test.registry, second.signal);
      await until(async () => (await addresses()) === "10.1.1.1,10.1.1.2");
      const slice = async () =>
        (await test.get("discovery.k8s.io/v1/endpointslices/default/kubernetes")).object;
      // The slice is written after the Endpoints.
      await until(async () => (await slice()).endpoints.length === 2);
      const { endpoints, ports } = await slice();
      assert.deepEqual(
        endpoints.map((each: { addresses: string[] }) => each.addresses[0]),
        ["10.1.1.1", "10.1.1.2"],
      );
      assert.equal(ports[0].port, 6443);
      second.abort();
      await leaving;
      assert.equal(await addresses(), "10.1.1.1");
    });

    it("are published in a later round if the first fails", async () => {
      void start("10.1.1.1", failing("create", 1));
      await until(async () => reports.length > 0);
      assert.match(reports[0] ?? "", /injected/);
      await until(async () => {
        test.clock.advance(5_000);
        return (await addresses()) === "10.1.1.1";
      });
    });
  });

  it("the repair of cluster IPs continues after an error, and reports conflicts", async () => {
    running.push(runServiceIpRepair({ ...parts(), registry: failing("repair", 1) }));
    await until(async () => {
      test.clock.advance(60_000);
      return reports.length >= 2;
    });
    assert.match(reports[0] ?? "", /injected/);
  });
});
