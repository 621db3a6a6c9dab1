/** Extenders as pods see them: a scheduler calls real HTTP servers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type ControllerTest, startController } from "../../controllers/testing.ts";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "../index.ts";
import { extenderOptions } from "./extender-options.ts";

type Answer = (body: any) => unknown;

const podsPath = "v1/pods/ns";

describe("extenders", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  let server: Server;
  let calls: { readonly path: string; readonly body: any }[];
  let answers: Record<string, Answer>;

  beforeEach(async () => {
    calls = [];
    answers = {};
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const path = request.url ?? "";
        const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
        calls.push({ path, body });
        const answer = answers[path];
        if (answer === undefined) response.writeHead(500).end();
        else {
          const value = answer(body);
          if (value !== undefined) response.end(JSON.stringify(value));
        }
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    test = await testRegistry({ namespaces: ["ns"] });
    for (const name of ["a", "b", "c"]) {
      const allocatable = { cpu: "4", memory: "8Gi", pods: "10", "example.com/gpu": "0" };
      await test.post("v1/nodes", { metadata: { name }, status: { allocatable } });
    }
  });
  afterEach(async () => {
    await run.stop();
    server.closeAllConnections();
    server.close();
  });

  async function start(more: object): Promise<void> {
    const { port } = server.address() as AddressInfo;
    const urlPrefix = `http://127.0.0.1:${port}/x/`;
    const extenders = extenderOptions([{ urlPrefix, ...more }]);
    const settings = { ...defaultSchedulerSettings, extenders };
    run = await startController((context) => runScheduler(context, settings), { test });
  }

  const makePod = (name: string, requests: object = {}) =>
    test.post(podsPath, {
      metadata: { name },
      spec: {
        containers: [{ name: "c", image: "i", resources: { requests, limits: requests } }],
        schedulerName: "default-scheduler",
      },
    });
  const podOf = async (name: string): Promise<any> =>
    (await test.get(`${podsPath}/${name}`)).object;
  const nodeOf = async (name: string) => (await podOf(name)).spec.nodeName;
  const messageOf = async (name: string) =>
    (await podOf(name)).status.conditions?.find(({ type }: any) => type === "PodScheduled")
      ?.message;

  it("filters and prioritizes by names of nodes", async () => {
    answers["/x/filter"] = ({ NodeNames }) => ({
      nodenames: NodeNames.filter((name: string) => name !== "a"),
      FailedNodes: { a: "too far" },
    });
    answers["/x/sort"] = () => [
      { Host: "b", Score: 0 },
      { Host: "c", Score: 10 },
    ];
    await start({
      filterVerb: "filter",
      prioritizeVerb: "sort",
      weight: 9,
      nodeCacheCapable: true,
    });
    await makePod("p");
    await run.until(() => nodeOf("p"));
    assert.equal(await nodeOf("p"), "c");
    const [{ path, body } = { path: "", body: {} }] = calls;
    assert.equal(path, "/x/filter");
    assert.deepEqual(Object.keys(body), ["Pod", "Nodes", "NodeNames"]);
    assert.deepEqual([body.Nodes, [...body.NodeNames].sort()], [null, ["a", "b", "c"]]);
    assert.equal(body.Pod.metadata.name, "p");
  });

  it("tells why a pod stays pending", async () => {
    answers["/x/filter"] = ({ Nodes }) => {
      assert.equal(Nodes.items.length, 3);
      return {
        Nodes: { items: [] },
        FailedNodes: { a: "full", b: "full" },
        FailedAndUnresolvableNodes: { c: "broken" },
      };
    };
    await start({ filterVerb: "filter" });
    await makePod("p");
    await run.until(() => messageOf("p"));
    assert.match(await messageOf("p"), /^0\/3 nodes are available: 1 broken, 2 full\. /);
  });

  it("binds in place of the scheduler, for pods with a managed resource only", async () => {
    answers["/x/bind"] = ({ PodName, PodNamespace, PodUID, Node }) => {
      assert.deepEqual([PodName, PodNamespace, typeof PodUID], ["gpu", "ns", "string"]);
      return { Error: `no ${Node.length === 1 ? "luck" : "node"}` };
    };
    const managedResources = [{ name: "example.com/gpu" }];
    await start({ bindVerb: "bind", managedResources });
    await makePod("plain");
    await makePod("gpu", { "example.com/gpu": "0" });
    await run.until(() => nodeOf("plain"));
    await run.until(() => messageOf("gpu"));
    assert.equal(await messageOf("gpu"), "no luck");
    assert.ok(calls.every(({ path }) => path === "/x/bind"));
  });

  it("does without an ignorable extender that fails or hangs", async () => {
    answers["/x/filter"] = () => undefined;
    await start({ filterVerb: "filter", ignorable: true, httpTimeout: "50ms" });
    await makePod("p");
    await run.until(() => nodeOf("p"));
    assert.equal(calls.length, 1);
  });

  it("reports an extender that fails", async () => {
    await start({ filterVerb: "filter" });
    await makePod("p");
    await run.until(() => messageOf("p"));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/x/filter`;
    assert.equal(await messageOf("p"), `failed filter with extender at URL ${url}, code 500`);
  });
});
