/** Simulated nodes that fail, with the node-lifecycle and node-ipam controllers. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { startFlags } from "../../../cmd/apiserver/options.ts";
import { localControllerOptions } from "../../../cmd/controller-manager/local-flags.ts";
import { parseFlags } from "../../../cmd/flags/parse.ts";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

type Json = any;

const deadlineMs = 120_000;
const pods = "/api/v1/namespaces/default/pods";

describe("simulated nodes and node controllers", () => {
  let server: RunningServer;
  before(async () => {
    const words = [
      "--allocate-node-cidrs",
      "--cluster-cidr=10.77.0.0/16",
      "--node-monitor-period=1s",
    ];
    server = await startServer({
      admissionPlugins: { disable: ["ServiceAccount"], enable: [], only: [] },
      controllerManager: localControllerOptions(parseFlags(startFlags, words)),
      nodes: { count: 2 },
    });
  });
  after(() => server.close());

  const request = async (method: string, path: string, body?: object): Promise<Json> => {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { "content-type": type };
    return (await server.fetch(path, { method, headers, ...content })).json();
  };
  const until = async (path: string, isThere: (found: Json) => unknown): Promise<Json> => {
    const end = performance.now() + deadlineMs;
    for (;;) {
      const found = await request("GET", path);
      if (isThere(found)) return found;
      if (performance.now() > end) assert.fail(`never came: ${path} ${JSON.stringify(found)}`);
      await setTimeout(20);
    }
  };
  const fail = (node: string, failure: string) =>
    request("PATCH", `/api/v1/nodes/${node}`, {
      metadata: { annotations: { "simulated.keelson.dev/failure": failure } },
    });
  const createPod = (name: string, nodeName: string) => {
    const toleration = {
      key: "node.kubernetes.io/not-ready",
      operator: "Exists",
      effect: "NoExecute",
    };
    const tolerations = [{ ...toleration, tolerationSeconds: 0 }];
    const spec = { nodeName, tolerations, containers: [{ name: "app", image: "nginx" }] };
    return request("POST", pods, { metadata: { name }, spec });
  };

  it("assign pod addresses from the podCIDR that node-ipam allocates", async () => {
    const node = await until("/api/v1/nodes/hollow-0", ({ spec }) => spec?.podCIDR);
    await createPod("addressed", "hollow-0");
    const { status } = await until(`${pods}/addressed`, (pod) => pod.status?.podIP);
    assert.match(node.spec.podCIDR, /^10\.77\.\d+\.0\/24$/);
    assert.equal(status.podIP.replace(/\d+$/, "0/24"), node.spec.podCIDR);
  });

  it("taint a node that is not ready, evict its pods, and remove the taint", async () => {
    await createPod("evicted", "hollow-0");
    await until(`${pods}/evicted`, ({ status }) => status?.phase === "Running");
    await fail("hollow-0", "not-ready");
    const hasTaint = ({ spec }: Json) =>
      spec?.taints?.some(
        ({ key, effect }: Json) => /not-ready/.test(key) && effect === "NoExecute",
      );
    await until("/api/v1/nodes/hollow-0", hasTaint);
    await until(`${pods}/evicted`, ({ code }) => code === 404);
    await fail("hollow-0", "");
    await until("/api/v1/nodes/hollow-0", (node) => node.metadata && !hasTaint(node));
  });

  it("taint a node with disk pressure", async () => {
    await fail("hollow-0", "disk-pressure");
    const { spec } = await until("/api/v1/nodes/hollow-0", (node) =>
      node.spec?.taints?.some(({ key }: Json) => /disk-pressure/.test(key)),
    );
    assert.deepEqual(
      spec.taints.map(({ effect }: Json) => effect),
      ["NoSchedule"],
    );
  });
});
