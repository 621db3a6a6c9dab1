/** API Priority and Fairness of a whole server, as its clients observe it. */
import assert from "node:assert/strict";
import type { ClientRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { type RunningServer, startServer, type StartOptions } from "../../../cmd/keelson/index.ts";

const group = "/apis/flowcontrol.apiserver.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";
const tokens = ["alice", "bob", "mallory"]
  .map((name) => `${name},${name},${name},"${name === "mallory" ? "others" : "devs"}"\n`)
  .join("");

/** Polls until `what` returns a truthy value, and returns it. */
async function until<T>(what: () => Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 3000; tries++) {
    const found = await what();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("timed out");
}

/** A server on which alice and bob have all permissions without being exempt. */
class Subject {
  private constructor(readonly server: RunningServer) {}

  static async start(options: Partial<StartOptions> = {}): Promise<Subject> {
    const limits = { readsInFlight: 20, writesInFlight: 20, ...options.limits };
    const server = await startServer({ port: 0, controllers: false, tokens, ...options, limits });
    const subject = new Subject(server);
    await subject.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "devs" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "devs" }],
    });
    // The authorizer receives the bindings by a watch.
    await until(async () => {
      const response = await subject.fetch(configMaps, "alice");
      await response.text();
      return response.ok;
    });
    return subject;
  }

  /** Sends a request as a user, or as the administrator. */
  fetch(path: string, user?: string, init: RequestInit = {}): Promise<Response> {
    const headers = user === undefined ? {} : { authorization: `Bearer ${user}` };
    return this.server.fetch(path, { ...init, headers: { ...headers, ...init.headers } });
  }

  async post(path: string, object: object): Promise<any> {
    return this.write("POST", path, object);
  }

  async write(method: string, path: string, object: object): Promise<any> {
    const headers = { "content-type": "application/json" };
    const response = await this.fetch(path, undefined, {
      method,
      headers,
      body: JSON.stringify(object),
    });
    const body: unknown = await response.json();
    assert.ok(response.ok, JSON.stringify(body));
    return body;
  }

  /** Creates a priority level with one seat for alice, and waits until it classifies her requests. */
  async limitAlice(queuing?: object): Promise<{ readonly uid: string }> {
    const { metadata } = await this.post(`${group}/prioritylevelconfigurations`, level(queuing));
    await this.post(`${group}/flowschemas`, schemaOf("tiny", "tiny", "alice"));
    await until(async () => this.levelOf("alice").then((uid) => uid === metadata.uid));
    return metadata;
  }

  /** The uid of the priority level of a user's requests. */
  async levelOf(user: string): Promise<string | null> {
    const response = await this.fetch("/version", user);
    await response.text();
    return response.headers.get("x-kubernetes-pf-prioritylevel-uid");
  }

  /** Starts a write that occupies a seat of alice's level until `end`. */
  async hold(): Promise<{ readonly end: () => Promise<number> }> {
    const before = await this.figures();
    const url = new URL(`${this.server.url}${configMaps}`);
    const headers = { authorization: "Bearer alice", "content-type": "application/json" };
    const options = { method: "POST", headers, rejectUnauthorized: false, agent: false };
    const request: ClientRequest = httpsRequest(url, options);
    const status = new Promise<number>((resolve, reject) => {
      request.once("error", reject).once("response", (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
    });
    request.write("{");
    await until(async () => (await this.figures()).executing > before.executing);
    const end = () => {
      request.end(`"metadata":{"generateName":"held-"}}`);
      return status;
    };
    return { end };
  }

  /** The current requests of alice's level. */
  async figures(): Promise<{ readonly waiting: number; readonly executing: number }> {
    const response = await this.fetch("/debug/api_priority_and_fairness/dump_priority_levels");
    const rows = (await response.text()).split("\n").map((line) => line.split(/,\s*/));
    const row = rows.find(([name]) => name === "tiny") ?? [];
    return { waiting: Number(row[4] ?? 0), executing: Number(row[5] ?? 0) };
  }

  /** Starts a request of alice that is queued, and waits until it is. */
  async waiting(init: RequestInit = {}): Promise<{ readonly status: Promise<number> }> {
    const { waiting } = await this.figures();
    const status = this.fetch("/version", "alice", init).then((response) => response.status);
    status.catch(() => undefined);
    await until(async () => (await this.figures()).waiting > waiting);
    return { status };
  }

  async metric(name: string, ...labels: readonly string[]): Promise<number> {
    const text = await (await this.fetch("/metrics")).text();
    const line = text
      .split("\n")
      .find((each) => each.startsWith(`${name}{`) && labels.every((label) => each.includes(label)));
    return Number(line?.split(" ").at(-1) ?? 0);
  }
}

function level(queuing?: object) {
  const limitResponse = queuing === undefined ? { type: "Reject" } : { type: "Queue", queuing };
  const limited = { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse };
  return { metadata: { name: "tiny" }, spec: { type: "Limited", limited } };
}

function schemaOf(name: string, levelName: string, user: string) {
  const everything = {
    subjects: [{ kind: "User", user: { name: user } }],
    resourceRules: [
      {
        verbs: ["*"],
        apiGroups: ["*"],
        resources: ["*"],
        clusterScope: true,
        namespaces: ["*"],
      },
    ],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  };
  const spec = {
    priorityLevelConfiguration: { name: levelName },
    matchingPrecedence: 10,
    rules: [everything],
  };
  return { metadata: { name }, spec };
}

const oneQueue = { queues: 1, handSize: 1, queueLengthLimit: 1 };

describe("flow control", () => {
  let subject: Subject;
  afterEach(() => subject.server.close());

  it("returns the uids of the FlowSchema and the priority level of a request", async () => {
    subject = await Subject.start();
    const uids = async (path: string, user?: string) => {
      const { headers } = await subject.fetch(path, user);
      const names = ["flowschema", "prioritylevel"];
      return names.map((name) => headers.get(`x-kubernetes-pf-${name}-uid`));
    };
    const uidOf = async (resource: string, name: string): Promise<string> => {
      const object: any = await (await subject.fetch(`${group}/${resource}/${name}`)).json();
      return object.metadata.uid;
    };
    const expected = async (schema: string, levelName: string) => [
      await uidOf("flowschemas", schema),
      await uidOf("prioritylevelconfigurations", levelName),
    ];
    assert.deepEqual(await uids(configMaps), await expected("exempt", "exempt"));
    assert.deepEqual(await uids("/livez", "mallory"), await expected("probes", "exempt"));
    const usual = await expected("global-default", "global-default");
    assert.deepEqual(await uids(configMaps, "alice"), usual);
    assert.deepEqual(await uids(configMaps, "mallory"), usual);
    assert.deepEqual(await uids(`${configMaps}?watch=1&timeoutSeconds=1`, "mallory"), usual);
    // Long-running requests other than watches are not classified.
    const log = "/api/v1/namespaces/default/pods/none/log";
    assert.deepEqual(await uids(log, "alice"), [null, null]);
  });

  it("rejects with 429 when the queue is full, and serves queued requests", async () => {
    subject = await Subject.start();
    const { uid } = await subject.limitAlice(oneQueue);
    const held = await subject.hold();
    const waiting = await subject.waiting();
    const rejected = await subject.fetch("/version", "alice");
    assert.equal(rejected.status, 429);
    assert.equal(rejected.headers.get("retry-after"), "1");
    assert.equal(rejected.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(rejected.headers.get("x-kubernetes-pf-prioritylevel-uid"), uid);
    assert.equal(await rejected.text(), "Too many requests, please try again later.\n");
    // Requests of other levels have their own seats.
    assert.equal((await subject.fetch("/version", "bob")).status, 200);
    assert.equal((await subject.fetch("/version")).status, 200);
    assert.equal(await held.end(), 201);
    assert.equal(await waiting.status, 200);
    const name = "apiserver_flowcontrol_rejected_requests_total";
    assert.equal(await subject.metric(name, 'priority_level="tiny"', 'reason="queue-full"'), 1);
  });

  it("rejects immediately at a level without queues", async () => {
    subject = await Subject.start();
    await subject.limitAlice();
    const held = await subject.hold();
    for (const path of ["/version", configMaps, `${configMaps}?watch=1`]) {
      assert.equal((await subject.fetch(path, "alice")).status, 429);
    }
    // Health checks are exempt.
    assert.equal((await subject.fetch("/readyz", "alice")).status, 200);
    assert.equal(await held.end(), 201);
    assert.equal((await subject.fetch("/version", "alice")).status, 200);
  });

  it("removes the request of a client that disconnects from the queue", async () => {
    subject = await Subject.start();
    await subject.limitAlice(oneQueue);
    const held = await subject.hold();
    const leaving = new AbortController();
    await subject.waiting({ signal: leaving.signal });
    leaving.abort();
    await until(async () => (await subject.figures()).waiting === 0);
    const next = await subject.waiting();
    await held.end();
    assert.equal(await next.status, 200);
  });

  it("queues a request for a quarter of its timeout", async () => {
    subject = await Subject.start();
    await subject.limitAlice(oneQueue);
    const held = await subject.hold();
    const started = performance.now();
    const rejected = await subject.fetch(`${configMaps}?timeout=4s`, "alice");
    assert.equal(rejected.status, 429);
    assert.ok(performance.now() - started >= 990);
    const name = "apiserver_flowcontrol_rejected_requests_total";
    assert.equal(await subject.metric(name, 'priority_level="tiny"', 'reason="time-out"'), 1);
    assert.equal(await held.end(), 201);
  });

  it("applies a new configuration without losing queued requests", async () => {
    subject = await Subject.start();
    await subject.limitAlice({ ...oneQueue, queueLengthLimit: 5 });
    const held = await subject.hold();
    const first = await subject.waiting();
    const second = await subject.waiting();
    const wider = level({ queues: 8, handSize: 2, queueLengthLimit: 5 });
    wider.spec.limited.nominalConcurrencyShares = 200;
    await subject.write("PUT", `${group}/prioritylevelconfigurations/tiny`, wider);
    assert.deepEqual([await first.status, await second.status], [200, 200]);
    assert.equal(await held.end(), 201);
  });

  it("drains a deleted level, and classifies new requests elsewhere", async () => {
    subject = await Subject.start();
    const { uid } = await subject.limitAlice(oneQueue);
    const held = await subject.hold();
    const waiting = await subject.waiting();
    await subject.fetch(`${group}/prioritylevelconfigurations/tiny`, undefined, {
      method: "DELETE",
    });
    await until(async () => (await subject.levelOf("alice")) !== uid);
    assert.equal(await held.end(), 201);
    assert.equal(await waiting.status, 200);
    const condition = async () => {
      const object: any = await (await subject.fetch(`${group}/flowschemas/tiny`)).json();
      const all: readonly any[] = object.status.conditions ?? [];
      return all.find(({ type }) => type === "Dangling")?.status === "True";
    };
    await until(condition);
  });

  it("releases the seat of an initialized watch", async () => {
    subject = await Subject.start();
    await subject.limitAlice(oneQueue);
    const leaving = new AbortController();
    const watching = await subject.fetch(`${configMaps}?watch=1`, "alice", {
      signal: leaving.signal,
    });
    assert.equal(watching.status, 200);
    await until(async () => (await subject.figures()).executing === 0);
    assert.equal((await subject.fetch(configMaps, "alice")).status, 200);
    leaving.abort();
    await watching.body?.cancel().catch(() => undefined);
  });

  it("releases the seats of a request while its body does not arrive", async () => {
    subject = await Subject.start({ limits: { bodySeatTime: 50 } });
    await subject.limitAlice(oneQueue);
    const held = await subject.hold();
    assert.equal((await subject.fetch("/version", "alice")).status, 200);
    assert.equal((await subject.figures()).executing, 0);
    assert.equal(await held.end(), 201);
  });

  it("restores mandatory objects, which stay in effect meanwhile", async () => {
    subject = await Subject.start();
    for (const name of ["exempt", "catch-all"]) {
      for (const resource of ["flowschemas", "prioritylevelconfigurations"]) {
        const url = `${group}/${resource}/${name}`;
        const before: any = await (await subject.fetch(url)).json();
        await subject.fetch(url, undefined, { method: "DELETE" });
        const after = await until(async () => {
          const response = await subject.fetch(url);
          return response.status === 200 ? ((await response.json()) as any) : undefined;
        });
        assert.notEqual(after.metadata.uid, before.metadata.uid);
        assert.deepEqual(after.spec, before.spec);
      }
    }
  });

  it("lists FlowSchemas in tables by precedence", async () => {
    subject = await Subject.start();
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const table = await subject.fetch(`${group}/flowschemas`, undefined, { headers: { accept } });
    const { rows } = (await table.json()) as { rows: { cells: [string, string, number] }[] };
    const precedences = rows.map(({ cells }) => cells[2]);
    assert.equal(rows[0]?.cells[0], "exempt");
    assert.deepEqual(
      precedences,
      [...precedences].sort((a, b) => a - b),
    );
    const list = await subject.fetch(`${group}/flowschemas`);
    const { items } = (await list.json()) as { items: { metadata: { name: string } }[] };
    assert.equal(items[0]?.metadata.name, "catch-all");
  });

  it("serves its debug dumps to authorized users only", async () => {
    subject = await Subject.start();
    for (const table of ["dump_priority_levels", "dump_queues", "dump_requests"]) {
      const path = `/debug/api_priority_and_fairness/${table}`;
      assert.equal((await subject.fetch(path, "mallory")).status, 403);
      const shown = await subject.fetch(path, "alice");
      assert.equal(shown.status, 200);
      assert.match(await shown.text(), /^PriorityLevelName,/);
    }
  });

  it("is absent with --enable-priority-and-fairness=false", async () => {
    subject = await Subject.start({ priorityAndFairness: false });
    const { headers } = await subject.fetch("/version", "alice");
    assert.equal(headers.get("x-kubernetes-pf-flowschema-uid"), null);
    const table = "/debug/api_priority_and_fairness/dump_queues";
    assert.equal((await subject.fetch(table)).status, 404);
  });

  it("counts the calls of the server's own controllers as exempt", async () => {
    subject = await Subject.start({ controllers: true });
    const labels = ['priority_level="exempt"', 'flow_schema="exempt"'];
    const count = () =>
      subject.metric("apiserver_flowcontrol_dispatched_requests_total", ...labels);
    const before = await count();
    await subject.post("/api/v1/namespaces", { metadata: { name: "made" } });
    // The controllers create a ServiceAccount in each namespace; one of the two calls is that of the test.
    const account = "/api/v1/namespaces/made/serviceaccounts/default";
    let asked = 1;
    await until(async () => {
      asked++;
      return (await subject.fetch(account)).status === 200;
    });
    assert.ok((await count()) - before > asked + 1);
  });
});
