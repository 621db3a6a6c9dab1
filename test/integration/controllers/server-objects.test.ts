/** Objects that the server maintains itself (APIServices, flow schemas), and changes of clients to them. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const flow = "/apis/flowcontrol.apiserver.k8s.io/v1";
const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const autoupdate = "apf.kubernetes.io/autoupdate-spec";

async function ask(server: RunningServer, method: string, path: string, body?: unknown) {
  const headers = {
    "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
  };
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  const answer = await server.fetch(path, init);
  assert(answer.ok, `${method} ${path}: ${answer.status}`);
  return (await answer.json()) as any;
}

describe("objects that the server maintains", () => {
  let server: RunningServer;

  before(async () => {
    server = await startServer({
      controllers: false,
      runtimeConfig: new Map([["api/all", "true"]]),
    });
  });
  after(() => server.close());

  it("registers an APIService for every served version", async () => {
    const { items } = await ask(server, "GET", services);
    const registered = items.map(({ metadata }: any) => metadata.name).sort();
    const { groups } = await ask(server, "GET", "/apis");
    const served: string[] = groups
      .flatMap(({ name, versions }: any) => versions.map((each: any) => `${each.version}.${name}`))
      .filter((name: string) => !name.endsWith(".apiregistration.k8s.io"));
    assert.deepEqual(registered, [...served, "v1."].sort());
    assert.equal(items[0].status.conditions[0].reason, "Local");
  });

  it("sets the condition Dangling of FlowSchemas", async () => {
    const conditionOf = async (name: string) => {
      const { status } = await ask(server, "GET", `${flow}/flowschemas/${name}`);
      return status.conditions?.find(({ type }: any) => type === "Dangling")?.status;
    };
    const until = async (name: string, wanted: string) => {
      while ((await conditionOf(name)) !== wanted) await new Promise((done) => setTimeout(done, 5));
    };
    await until("exempt", "False");
    const spec = { priorityLevelConfiguration: { name: "mine" }, matchingPrecedence: 50 };
    await ask(server, "POST", `${flow}/flowschemas`, { metadata: { name: "mine" }, spec });
    await until("mine", "True");
    const level = { type: "Limited", limited: { limitResponse: { type: "Reject" } } };
    const body = { metadata: { name: "mine" }, spec: level };
    await ask(server, "POST", `${flow}/prioritylevelconfigurations`, body);
    await until("mine", "False");
  });

  it("repairs its objects at the next start, unless auto-update is off", async () => {
    const change = (path: string, body: unknown) => ask(server, "PATCH", path, body);
    const levels = `${flow}/prioritylevelconfigurations`;
    const shares = (count: number) => ({ spec: { limited: { nominalConcurrencyShares: count } } });
    const annotated = (value: string | null) => ({
      metadata: { annotations: { [autoupdate]: value } },
    });
    await change(`${levels}/system`, shares(7));
    await change(`${levels}/workload-low`, { ...shares(7), ...annotated("false") });
    // Changed without the annotation: from now on the server does not update the object.
    await change(`${levels}/node-high`, { ...shares(7), ...annotated(null) });
    await change(`${levels}/exempt`, { spec: { exempt: { lendablePercent: 5 } } });
    await ask(server, "DELETE", `${flow}/flowschemas/probes`);
    await ask(server, "POST", `${levels}`, {
      metadata: { name: "old", annotations: { [autoupdate]: "true" } },
      spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
    });
    await ask(server, "DELETE", `${services}/v1.apps`);
    await change(`${services}/v1.batch`, { spec: { versionPriority: 3 } });

    const next = await server.snapshot().restart();
    try {
      const limits = async (name: string) => {
        const { metadata, spec } = await ask(next, "GET", `${levels}/${name}`);
        return [spec.limited.nominalConcurrencyShares, metadata.annotations[autoupdate]];
      };
      assert.deepEqual(await limits("system"), [30, "true"]);
      assert.deepEqual(await limits("workload-low"), [7, "false"]);
      assert.deepEqual(await limits("node-high"), [7, "false"]);
      const exempt = await ask(next, "GET", `${levels}/exempt`);
      assert.equal(exempt.spec.exempt.lendablePercent, 5);
      await ask(next, "GET", `${flow}/flowschemas/probes`);
      assert.equal((await next.fetch(`${levels}/old`)).status, 404);
      await ask(next, "GET", `${services}/v1.apps`);
      const batch = await ask(next, "GET", `${services}/v1.batch`);
      assert.equal(batch.spec.versionPriority, 15);
    } finally {
      await next.close();
    }
  });
});
