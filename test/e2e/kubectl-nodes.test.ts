/** kubectl on a pod of a simulated node. */
import assert from "node:assert/strict";
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
    assert.equal((await kubectl.attempt("exec web -- echo hello")).out, "hello\n");
    assert.equal((await kubectl.attempt("exec web -- false")).status, 1);
    assert.equal((await kubectl.attempt("exec -i web -- cat", "typed")).out, "typed");
    assert.equal((await kubectl.attempt("exec -i web -- sh", "exit 3\n")).status, 3);
  });

  it("asks each node for its own pods", async () => {
    const items = async (node: string) => {
      const { out } = await kubectl.attempt(`get --raw /api/v1/nodes/${node}/proxy/pods`);
      return (JSON.parse(out) as { readonly items: readonly unknown[] }).items.length;
    };
    assert.deepEqual(await Promise.all(["hollow-0", "hollow-1"].map(items)), [0, 1]);
  });
});
