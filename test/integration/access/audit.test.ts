import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import type { LogDelivery } from "#audit";
import { parseKubeconfig } from "#request";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

type Event = Readonly<Record<string, any>>;

const batch = { bufferSize: 1000, maxSize: 100, maxWaitMs: 60_000 };
const rotation = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0, compress: false };

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver"]
- level: None
  nonResourceURLs: ["/healthz*"]
- level: Metadata
  resources:
  - group: ""
    resources: [secrets, "serviceaccounts/token"]
- level: Request
  resources:
  - group: ""
    resources: ["pods/*", "*/status"]
- level: RequestResponse
  omitManagedFields: true
  resources:
  - group: ""
    resources: [configmaps]
- level: Metadata
  verbs: [create, update, patch, delete, watch, list, get]
  omitStages: []
`;

/** In-process requests end for the client before the server has audited them. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A stream and the audit events written to it. */
function collector() {
  const lines: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(...chunk.toString("utf8").split("\n").filter(Boolean));
      done();
    },
  });
  return { stream, lines, events: () => lines.map((line) => JSON.parse(line) as Event) };
}

function logTo(to: Writable, more: Partial<LogDelivery> = {}): LogDelivery {
  return { to, format: "json", mode: "blocking", batch, rotation, ...more };
}

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  const json = { "content-type": "application/json", ...headers };
  return { method: "POST", headers: json, body: JSON.stringify(body) };
}

const configMaps = "/api/v1/namespaces/default/configmaps";

describe("audit", () => {
  const log = collector();
  let server: RunningServer;

  before(async () => {
    const audit = { policy, log: logTo(log.stream) };
    server = await startServer({ audit, controllers: false });
  });

  after(() => server.close());

  beforeEach(() => {
    log.lines.length = 0;
  });

  async function fetchText(path: string, init?: RequestInit): Promise<Response> {
    const response = await server.fetch(path, init);
    await response.text();
    return response;
  }

  /** Waits for `count` events: the event of a response may be written after the client has the response. */
  async function recordedEvents(count: number): Promise<readonly Event[]> {
    for (let tries = 200; log.lines.length < count && tries > 0; tries--) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(log.lines.length, count, log.lines.join("\n"));
    return log.events();
  }

  it("records user, source addresses, request and response status", async () => {
    const headers = {
      "user-agent": "kubectl/v1.34.0",
      "x-forwarded-for": "203.0.113.7, unknown, ::ffff:198.51.100.2",
      "audit-id": "my-id",
    };
    await fetchText("/api/v1/namespaces/default/services/none?x=1&access_token=abc", { headers });
    const [event] = await recordedEvents(1);
    const { requestReceivedTimestamp, stageTimestamp, ...rest } = event!;
    assert.match(requestReceivedTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.ok(stageTimestamp >= requestReceivedTimestamp);
    assert.match(rest["auditID"], /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: rest["auditID"],
      stage: "ResponseComplete",
      requestURI: "/api/v1/namespaces/default/services/none?x=1&access_token=REDACTED",
      verb: "get",
      user: { username: "admin", uid: "admin", groups: ["system:masters", "system:authenticated"] },
      sourceIPs: ["203.0.113.7", "198.51.100.2"],
      userAgent: "kubectl/v1.34.0",
      objectRef: {
        resource: "services",
        namespace: "default",
        name: "none",
        apiVersion: "v1",
      },
      responseStatus: {
        metadata: {},
        status: "Failure",
        message: 'services "none" not found',
        reason: "NotFound",
        details: { name: "none", kind: "services" },
        code: 404,
      },
      annotations: {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "",
      },
    });
  });

  it("records bodies at level RequestResponse, without managedFields", async () => {
    const data = { key: "<value> & more", __proto__: "x" };
    const body = { metadata: { name: "a" }, data: Object.fromEntries(Object.entries(data)) };
    await fetchText(configMaps, post(body));
    await fetchText(`${configMaps}/a`, {
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: "apiVersion: v1\nkind: ConfigMap\ndata: {more: 'yes'}\n",
    });
    const [created, patched] = await recordedEvents(2);
    assert.equal(created!["objectRef"].name, "a");
    assert.equal(created!["responseStatus"].code, 201);
    assert.equal(created!["requestObject"].data.key, data.key);
    assert.equal(created!["responseObject"].metadata.uid.length, 36);
    assert.equal(created!["responseObject"].metadata.managedFields, undefined);
    assert.equal(patched!["verb"], "patch");
    assert.match(log.lines[0]!, /\\u003cvalue\\u003e \\u0026 more/);
  });

  it("records responses as JSON, whatever the media type and encoding", async () => {
    await fetchText(configMaps, post({ metadata: { name: "forms" }, data: { a: "b" } }));
    const accepts = ["application/vnd.kubernetes.protobuf", "application/yaml"];
    for (const accept of accepts) {
      await fetchText(`${configMaps}/forms?pretty=true`, { headers: { accept } });
      await fetchText(configMaps, { headers: { accept } });
    }
    await fetchText(`${configMaps}/forms?pretty=true`);
    await fetchText(configMaps, { headers: { "accept-encoding": "gzip" } });
    const [, ...events] = await recordedEvents(7);
    for (const [index, { responseObject }] of events.entries()) {
      const isList = index === 1 || index === 3 || index === 5;
      assert.equal(responseObject.kind, isList ? "ConfigMapList" : "ConfigMap");
      const found = isList
        ? responseObject.items.find((each: Event) => each["metadata"].name === "forms")
        : responseObject;
      assert.deepEqual(found.data, { a: "b" });
      assert.equal(found.metadata.managedFields, undefined);
    }
  });

  it("never records the data of Secrets and tokens", async () => {
    const path = "/api/v1/namespaces/default/secrets";
    const stringData = { password: "tellnobody" };
    await fetchText(path, post({ metadata: { name: "s" }, stringData }));
    await fetchText(`${path}/s`);
    await fetchText(path);
    const token = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const account = { metadata: { name: "default" } };
    await fetchText("/api/v1/namespaces/default/serviceaccounts", post(account));
    await fetchText(token, post({ spec: {} }));
    const events = await recordedEvents(5);
    const key = "authentication.kubernetes.io/issued-credential-id";
    const issued: string = events.at(-1)!["annotations"][key];
    assert.match(issued, /^JTI=[0-9a-f-]{36}$/);
    const output = log.lines.join("\n");
    assert.doesNotMatch(output, /tellnobody|dGVsbG5vYm9keQ|eyJ/);
    assert.doesNotMatch(output, new RegExp(server.token));
  });

  it("applies the first matching rule, with patterns of subresources and paths", async () => {
    await fetchText("/healthz/ping");
    await fetchText("/api/v1/namespaces/default/status");
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
    await fetchText("/api/v1/namespaces/default/pods", post(pod));
    await fetchText("/api/v1/namespaces/default/pods/p/status");
    await fetchText("/version");
    const events = await recordedEvents(4);
    assert.deepEqual(
      events.map((event) => [event["level"], event["requestURI"].split("/").at(-1)]),
      [
        ["Request", "status"],
        ["Request", "pods"],
        ["Request", "status"],
        ["Metadata", "version"],
      ],
    );
    assert.equal(events[1]!["requestObject"].spec.restartPolicy, "Always");
    assert.ok(events.every((event) => event["responseObject"] === undefined));
  });

  it("records both users of an impersonated request, and the authorization decision", async () => {
    const headers = { "impersonate-user": "ada", "impersonate-group": "crew" };
    await fetchText("/api/v1/namespaces/default/services", { headers });
    const [event] = await recordedEvents(1);
    assert.equal(event!["user"].username, "admin");
    assert.deepEqual(event!["impersonatedUser"], {
      username: "ada",
      groups: ["crew", "system:authenticated"],
    });
    assert.equal(event!["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert.equal(event!["responseStatus"].code, 403);
  });

  it("records a watch when it starts and when it ends", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const watch = await server.fetch("/api/v1/services?watch=1", { signal });
    assert.equal(watch.status, 200);
    const [started] = await recordedEvents(1);
    assert.equal(started!["stage"], "ResponseStarted");
    assert.deepEqual(started!["responseStatus"], { metadata: {}, code: 200 });
    controller.abort();
    const [, ended] = await recordedEvents(2);
    assert.equal(ended!["stage"], "ResponseComplete");
    await fetchText("/api/v1/services?watch=1&resourceVersion=x");
    const [, , refused] = await recordedEvents(4);
    assert.equal(refused!["stage"], "ResponseStarted");
    assert.match(refused!["responseStatus"].message, /^resourceVersion: Invalid value/);
  });

  it("records a failed authentication, without the credential", async () => {
    await fetchText("/api/v1/pods", { headers: { authorization: "Bearer wrongwrong" } });
    const [event] = await recordedEvents(1);
    assert.equal(event!["stage"], "ResponseStarted");
    assert.deepEqual(event!["user"], {});
    assert.equal(event!["responseStatus"].code, 401);
    assert.doesNotMatch(log.lines[0]!, /wrongwrong/);
  });

  it("writes one line per event for any body", async () => {
    const headers = { "content-type": "application/json" };
    const invalidUtf8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
    const deep = `{"data":${"[".repeat(20_000)}`;
    const lines = { metadata: { name: "lines" }, data: { a: "1\n2\u2028\r\n", b: "\u0000" } };
    for (const body of [invalidUtf8, deep, JSON.stringify(lines), "x".repeat(4_000_000)]) {
      await fetchText(configMaps, { method: "POST", headers, body });
    }
    for (const body of [invalidUtf8, deep]) {
      const merge = { "content-type": "application/merge-patch+json" };
      await fetchText(`${configMaps}/lines`, { method: "PATCH", headers: merge, body });
    }
    await fetchText(`/api/v1/namespaces/${"n".repeat(5000)}/pods`, {
      headers: { "user-agent": "u".repeat(3000) },
    });
    const events = await recordedEvents(7);
    assert.equal(events[2]!["requestObject"].data.a, lines.data.a);
    assert.equal(events[1]!["requestObject"], undefined);
    assert.match(events[6]!["userAgent"], /^u{1024}\.\.\.TRUNCATED$/);
  });
});

describe("audit over TLS", () => {
  it("records the client's Audit-ID and address", async () => {
    const log = collector();
    const audit = { policy, log: logTo(log.stream) };
    const server = await startServer({ audit, controllers: false, port: 0 });
    try {
      const headers = { "audit-id": "my-id", authorization: `Bearer ${server.token}` };
      const options = { headers, rejectUnauthorized: false };
      const id = await new Promise((resolve, reject) => {
        const request = httpsRequest(`${server.url}/version`, options, (response) => {
          response.resume().once("end", () => resolve(response.headers["audit-id"]));
        });
        request.once("error", reject).end();
      });
      assert.equal(id, "my-id");
    } finally {
      await server.close();
    }
    const event = log.events().find(({ requestURI }) => requestURI === "/version");
    assert.equal(event!["auditID"], "my-id");
    assert.deepEqual(event!["sourceIPs"], ["127.0.0.1"]);
  });
});

describe("audit backends", () => {
  const everything =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n" +
    '- {level: None, users: ["system:apiserver"]}\n- level: RequestResponse\n';

  it("reject requests that cannot be recorded only in mode blocking-strict", async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error("full"), { code: "ENOSPC" }));
      },
    });
    for (const [mode, status] of [
      ["blocking", 200],
      ["blocking-strict", 500],
    ] as const) {
      const reports: string[] = [];
      const report = (_what: string, error: unknown) => void reports.push(String(error));
      const audit = { policy: everything, log: logTo(broken, { mode }) };
      const server = await startServer({ audit, report, controllers: false });
      const response = await server.fetch("/version");
      assert.equal(response.status, status);
      const text = await response.text();
      if (mode === "blocking-strict") assert.match(text, /failed to store audit event/);
      assert.ok(reports.length > 0);
      await server.close();
    }
  });

  it("flush buffered events when the server closes", async () => {
    const log = collector();
    const audit = { policy: everything, log: logTo(log.stream, { mode: "batch" }) };
    const server = await startServer({ audit, controllers: false });
    for (let i = 0; i < 140; i++) await (await server.fetch("/version")).text();
    // Two events each; an incomplete batch remains in the buffer.
    assert.ok(log.lines.length <= 200, `${log.lines.length} events`);
    await nextTurn();
    await server.close();
    assert.equal(log.events().filter(({ stage }) => stage === "ResponseComplete").length, 140);
  });

  it("truncate bodies, then drop events, that are too large", async () => {
    const log = collector();
    const truncate = { maxEventSize: 2500, maxBatchSize: 10_000 };
    const audit = { policy: everything, log: logTo(log.stream, { truncate }) };
    const server = await startServer({ audit, report: () => undefined, controllers: false });
    const body = { metadata: { name: "big" }, data: { a: "x".repeat(3000) } };
    await (await server.fetch(configMaps, post(body))).text();
    await (await server.fetch(`/version?${"y".repeat(3000)}`)).text();
    await nextTurn();
    const metrics = await (await server.fetch("/metrics")).text();
    await server.close();
    const [, created] = log.events().filter(({ verb }) => verb === "create");
    assert.equal(created!["requestObject"], undefined);
    assert.equal(created!["annotations"]["audit.k8s.io/truncated"], "true");
    assert.ok(log.lines.every((line) => !line.includes("yyyy")));
    assert.match(metrics, /^apiserver_audit_error_total\{plugin="truncate"\} 2$/m);
    assert.match(metrics, /^apiserver_audit_level_total\{level="RequestResponse"\} \d+$/m);
    assert.match(metrics, /^apiserver_audit_event_total \d+$/m);
  });

  it("send EventLists to a webhook, and retry failures", async () => {
    const lists: Event[] = [];
    let failures = 1;
    const hook: Server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (part: string) => (text += part));
      request.on("end", () => {
        response.writeHead(failures-- > 0 ? 503 : 200).end();
        if (response.statusCode === 200) lists.push(JSON.parse(text) as Event);
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    const { port } = hook.address() as AddressInfo;
    const config = JSON.stringify({
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}/audit` } }],
    });
    const webhook = {
      endpoint: parseKubeconfig(config, () => assert.fail("no file is named")),
      initialBackoffMs: 5,
      mode: "batch",
      batch: { ...batch, throttle: { perSecond: 10, burst: 15 } },
    } as const;
    const audit = { policy: everything, webhook };
    const server = await startServer({ audit, controllers: false });
    for (let i = 0; i < 3; i++) await (await server.fetch("/version")).text();
    await nextTurn();
    await server.close();
    hook.close();
    const items = lists.flatMap((each) => each["items"] as Event[]);
    assert.equal(lists[0]!["kind"], "EventList");
    assert.equal(lists[0]!["apiVersion"], "audit.k8s.io/v1");
    const stages = items.map(({ stage }) => stage);
    assert.equal(stages.filter((stage) => stage === "ResponseComplete").length, 3);
    assert.ok(items.every((item) => !("kind" in item)));
  });

  it("write the legacy format", async () => {
    const log = collector();
    const audit = { policy: everything, log: logTo(log.stream, { format: "legacy" }) };
    const server = await startServer({ audit, controllers: false });
    await (await server.fetch("/version")).text();
    await nextTurn();
    await server.close();
    const line = log.lines.find((each) => each.includes("ResponseComplete"));
    assert.match(line!, /^\S+Z AUDIT: id="[^"]+" stage="ResponseComplete" ip="<unknown>" /);
    assert.match(line!, / user="admin" groups="\\"system:masters\\",.* as="<self>" /);
    assert.match(line!, / namespace="<none>" uri="\/version" response="200"$/);
  });
});
