/** kubectl on a pod of a simulated node. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { Kubectl } from "./kubectl.ts";

describe("kubectl on simulated nodes", () => {
  let server: RunningServer;
  let kubectl: Kubectl;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    server = await startServer({ port: 0, nodes: { count: 2 } });
    kubectl = new Kubectl(server.kubeconfig);
    const annotations = { "simulated.keelson.dev/log": "one\ntwo\n" };
    const spec = { nodeName: "hollow-1", containers: [{ name: "app", image: "nginx" }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", annotations }, spec };
    const created = await kubectl.attempt("create -f -", JSON.stringify(pod));
    assert.equal(created.error, "");
    const ready = await kubectl.attempt("wait --for=condition=Ready pod/web --timeout=10s");
    assert.equal(ready.error, "");
  });
  after(async () => {
    kubectl?.[Symbol.dispose]();
    await server?.close();
  });

  it("reads logs", async () => {
    assert.equal((await kubectl.attempt("logs web")).out, "one\ntwo\n");
    assert.equal((await kubectl.attempt("logs web --tail=1")).out, "two\n");
    const { error } = await kubectl.attempt("logs web --previous");
    assert.match(error, /previous terminated container "app" in pod "web" not found/);
  });

  it("executes commands with their input and exit code", async () => {
    const hello = await kubectl.attempt("exec web -- echo hello");
    assert.deepEqual(hello, { status: 0, out: "hello\n", error: "" });
    assert.equal((await kubectl.attempt("exec web -- false")).status, 1);
    const typed = await kubectl.attempt("exec -i web -- cat", "typed");
    assert.deepEqual(typed, { status: 0, out: "typed", error: "" });
    assert.equal((await kubectl.attempt("exec -i web -- sh", "exit 3\n")).status, 3);
  });

  it("copies files and folders in and out", async () => {
    mkdirSync(path.join(kubectl.folder, "in/deep"), { recursive: true });
    kubectl.write("in/a.txt", "first\n");
    const long = `${"x".repeat(120)}.bin`;
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7) & 255));
    writeFileSync(path.join(kubectl.folder, "in/deep", long), bytes);
    assert.equal((await kubectl.attempt("cp in web:/root/in")).error, "");
    assert.equal((await kubectl.attempt("exec web -- cat /root/in/a.txt")).out, "first\n");
    assert.equal((await kubectl.attempt("cp web:/root/in out")).status, 0);
    assert.equal(readFileSync(path.join(kubectl.folder, "out/a.txt"), "utf8"), "first\n");
    assert.deepEqual(readFileSync(path.join(kubectl.folder, "out/deep", long)), bytes);
    assert.equal((await kubectl.attempt("cp --retries=2 web:root/in/a.txt again.txt")).status, 0);
    assert.equal(readFileSync(path.join(kubectl.folder, "again.txt"), "utf8"), "first\n");
    // `kubectl cp` may exit before it prints what the far end of a download complains about.
    const absent = await kubectl.attempt("exec web -- tar cf - /absent");
    assert.equal(absent.status, 2);
    assert.match(absent.error, /No such file/);
    writeFileSync(path.join(kubectl.folder, "huge"), Buffer.alloc(9 << 20));
    assert.match((await kubectl.attempt("cp huge web:/root/huge")).error, /too large/);
  });

  it("executes commands and copies over SPDY, as old clients do", async () => {
    const old = new Kubectl(server.kubeconfig, { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" });
    try {
      assert.equal((await old.attempt("exec web -- echo hello")).out, "hello\n");
      assert.equal((await old.attempt("exec web -- false")).status, 1);
      assert.equal((await old.attempt("exec -i web -- cat", "typed")).out, "typed");
      assert.equal((await old.attempt("exec -i web -- sh", "exit 3\n")).status, 3);
      const large = "0123456789".repeat(50_000);
      old.write("large", large);
      assert.equal((await old.attempt("cp large web:/root/large")).error, "");
      assert.equal((await old.attempt("exec web -- cat /root/large")).out, large);
      assert.match((await old.attempt("attach web --pod-running-timeout=5s", "")).out, /^one/);
    } finally {
      old[Symbol.dispose]();
    }
  });

  for (const sockets of ["true", "false"]) {
    it(`forwards ports, KUBECTL_PORT_FORWARD_WEBSOCKETS=${sockets}`, async () => {
      const echo = createServer((request, response) => {
        request.pipe(response);
      }).listen(0, "127.0.0.1");
      await once(echo, "listening");
      const { port } = echo.address() as AddressInfo;
      const targets = `81=127.0.0.1:${port},82=192.0.2.1:80,83=127.0.0.1:1`;
      await kubectl.ok(
        `annotate --overwrite pod web simulated.keelson.dev/port-forward=${targets}`,
      );
      const [program, environment] = ["kubectl", { KUBECTL_PORT_FORWARD_WEBSOCKETS: sockets }];
      const client = new Kubectl(server.kubeconfig, environment);
      const forward = client.background(program, [
        "port-forward",
        "web",
        ":80",
        ":81",
        ":82",
        ":83",
      ]);
      try {
        const ports = await forward.matches(/127\.0\.0\.1:(\d+) -> \d+/g, 4);
        const url = (at: number) => `http://127.0.0.1:${ports[at]}/`;
        const plain = await fetch(url(0));
        assert.match(await plain.text(), /^simulated pod default\/web: nothing listens on port 80/);
        const body = "0123456789".repeat(40_000);
        const echoed = await fetch(url(1), { method: "POST", body });
        assert.equal(await echoed.text(), body);
        const both = await Promise.all(
          [1, 1].map((at) => fetch(url(at), { method: "POST", body })),
        );
        for (const each of both) assert.equal(await each.text(), body);
        await assert.rejects(fetch(url(2)));
        await forward.complains(/192\.0\.2\.1 is outside of --port-forward-targets/);
      } finally {
        forward[Symbol.dispose]();
        client[Symbol.dispose]();
        echo.close();
      }
    });
  }

  it("asks each node for its own pods", async () => {
    const items = async (node: string) => {
      const { out } = await kubectl.attempt(`get --raw /api/v1/nodes/${node}/proxy/pods`);
      return (JSON.parse(out) as { readonly items: readonly unknown[] }).items.length;
    };
    assert.deepEqual(await Promise.all(["hollow-0", "hollow-1"].map(items)), [0, 1]);
  });
});

describe("kubectl on the scheduling of nodes", () => {
  let server: RunningServer;
  let kubectl: Kubectl;
  let manifests: string;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    manifests = mkdtempSync(path.join(tmpdir(), "keelson-manifests-"));
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "proxy" } };
    const spec = { containers: [{ name: "app", image: "proxy" }] };
    writeFileSync(path.join(manifests, "proxy.yaml"), JSON.stringify({ ...pod, spec }));
    server = await startServer({
      port: 0,
      nodes: { count: 2, staticPodPath: manifests },
      scheduler: true,
    });
    kubectl = new Kubectl(server.kubeconfig);
    for (const node of ["node/hollow-0", "node/hollow-1"]) {
      await kubectl.ok(`wait --for=create ${node} --timeout=30s`);
      await kubectl.ok(`wait --for=condition=Ready ${node} --timeout=30s`);
    }
  });
  after(async () => {
    kubectl?.[Symbol.dispose]();
    await server?.close();
    if (manifests !== undefined) rmSync(manifests, { recursive: true });
  });

  const labels = (app: string) => ({ app });
  const template = (app: string) => ({
    metadata: { labels: labels(app) },
    spec: {
      containers: [{ name: "app", image: "nginx" }],
      volumes: [{ name: "scratch", emptyDir: {} }],
      tolerations: app === "agent" ? [{ operator: "Exists" }] : [],
    },
  });
  const create = (kind: string, app: string, spec: object) => {
    const selector = { matchLabels: labels(app) };
    const whole = { selector, template: template(app), ...spec };
    const object = { apiVersion: "apps/v1", kind, metadata: { name: app }, spec: whole };
    return kubectl.ok("create -f -", JSON.stringify(object));
  };
  /** Nodes of the pods with a label, sorted. */
  const nodesOf = async (app: string): Promise<readonly string[]> => {
    const { items } = await kubectl.json(`get pods -l app=${app}`);
    return items.map(({ spec }: any) => spec.nodeName ?? "").sort();
  };

  it("drains a node as far as a PodDisruptionBudget lets it", async () => {
    await create("DaemonSet", "agent", {});
    await create("Deployment", "web", { replicas: 4 });
    await kubectl.ok("create pdb web --selector=app=web --min-available=4");
    await kubectl.ok("rollout status deployment/web daemonset/agent --timeout=30s");
    const drain = kubectl.background("kubectl", [
      "drain",
      "hollow-0",
      "--ignore-daemonsets",
      "--delete-emptydir-data",
    ]);
    try {
      await drain.complains(/Cannot evict pod as it would violate the pod's disruption budget/);
      assert.ok((await nodesOf("web")).includes("hollow-0"));
      await kubectl.ok('patch pdb web --type=merge -p {"spec":{"minAvailable":3}}');
      await drain.matches(/node\/hollow-0 (drained)/g, 1);
    } finally {
      drain[Symbol.dispose]();
    }
    await kubectl.ok("rollout status deployment/web --timeout=30s");
    assert.deepEqual(new Set(await nodesOf("web")), new Set(["hollow-1"]));
    assert.deepEqual(await nodesOf("agent"), ["hollow-0", "hollow-1"]);
    assert.match(await kubectl.ok("get pod proxy-hollow-0"), /Running/);
  });

  it("uncordons and cordons, of which Events tell", async () => {
    await kubectl.ok("uncordon hollow-0");
    await kubectl.ok("cordon hollow-1");
    await create("Deployment", "late", { replicas: 2 });
    await kubectl.ok("rollout status deployment/late --timeout=30s");
    assert.deepEqual(await nodesOf("late"), ["hollow-0", "hollow-0"]);
    assert.match(await kubectl.ok("get node hollow-1"), /SchedulingDisabled/);
    const described = await kubectl.ok("describe node hollow-1");
    assert.match(
      described,
      /NodeNotSchedulable .* Node hollow-1 status is now: NodeNotSchedulable/,
    );
    await kubectl.ok("uncordon hollow-1");
  });

  it("taints a node, which pods that do not tolerate it leave", async () => {
    await kubectl.ok("taint node hollow-0 maintenance=now:NoExecute");
    await kubectl.ok(
      "wait --for=delete pod -l app=late --field-selector=spec.nodeName=hollow-0 --timeout=30s",
    );
    await kubectl.ok("rollout status deployment/late --timeout=30s");
    assert.deepEqual(await nodesOf("late"), ["hollow-1", "hollow-1"]);
    assert.deepEqual(await nodesOf("agent"), ["hollow-0", "hollow-1"]);
    await kubectl.ok("taint node hollow-0 maintenance-");
  });
});
