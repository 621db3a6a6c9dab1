/** Requests of controllers, scheduler and nodes in the server, recorded and failed by the kit. */
import assert from "node:assert/strict";
import { type TestServer, testServer, type TestServerOptions } from "./index.ts";

const manager = "kube-controller-manager";
const labels = { app: "web" };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
};

describe("interceptControllers", () => {
  const running: TestServer[] = [];
  const start = async (options: TestServerOptions = {}) => {
    const server = await testServer({ interceptControllers: true, ...options });
    running.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  it("records and fails requests of controllers, which retry", async () => {
    const server = await start();
    const updates = { userAgent: manager, verb: "create", resource: "replicasets.apps" } as const;
    server.faults.next({ ...updates, fail: 500 });
    await server.apply(deployment);
    await server.waitFor(deployment, "jsonpath={.status.replicas}=1");
    const [failed, passed] = server.requests.list(updates);
    assert.deepEqual([failed?.status, failed?.fault, passed?.status], [500, "500", 201]);
    assert.equal(passed?.path, "/apis/apps/v1/namespaces/default/replicasets");
    assert.equal(passed?.user, "system:kube-controller-manager");
    server.requests.expectAtLeast(1, { userAgent: manager, resource: "deployments/status" });
  });

  it("cuts and expires watches of controllers, which reconnect", async () => {
    const server = await start({ virtualTime: true });
    const scaled = async (replicas: number) => {
      await server.apply({ ...deployment, spec: { ...deployment.spec, replicas } });
      await server.clock.advance(5_000);
      await server.waitFor(deployment, `jsonpath={.status.replicas}=${replicas}`);
    };
    const watches = { userAgent: manager, resource: "deployments.apps" };
    await scaled(1);
    assert.ok(server.faults.cutWatches(watches) > 0);
    await scaled(2);
    assert.ok(server.faults.expireWatches(watches) > 0);
    await scaled(3);
    server.requests.expectAtLeast(3, { ...watches, verb: "watch" });
  });

  it("includes the scheduler and nodes, in forks and after a reset as well", async () => {
    const base = await start({ scheduler: true, nodes: { count: 1 } });
    const fork = await base.fork();
    running.push(fork);
    await base.reset();
    for (const server of [base, fork]) {
      await server.apply(deployment);
      await server.waitFor(deployment, "condition=Available");
      server.requests.expectAtLeast(1, { userAgent: "kube-scheduler", resource: "pods/binding" });
      server.requests.expectAtLeast(1, { userAgent: "kubelet", resource: "pods/status" });
    }
  });

  it("is off by default", async () => {
    const server = await start({ interceptControllers: false });
    server.faults.next({ verb: "create", resource: "replicasets.apps", fail: 500 });
    await server.apply(deployment);
    await server.waitFor(deployment, "jsonpath={.status.replicas}=1");
    server.requests.expectAtMost(0);
    assert.equal(server.faults.pending(), 1);
  });
});
