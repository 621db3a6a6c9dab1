/** Audit annotations and metrics of admission webhooks. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import {
  configMap,
  configMaps,
  eventually,
  patchOf,
  send,
  startForTests,
  TestWebhook,
} from "./testing.ts";

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [update]
- level: Request
  resources: [{ group: "", resources: [configmaps] }]
- level: None
`;
const batch = { bufferSize: 1000, maxSize: 100, maxWaitMs: 60_000 };
const rotation = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0, compress: false };

describe("audit and metrics of admission webhooks", () => {
  const webhook = new TestWebhook();
  const lines: string[] = [];
  let server: RunningServer;
  before(async () => {
    await webhook.start();
    const to = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(...chunk.toString("utf8").split("\n").filter(Boolean));
        done();
      },
    });
    const log = { to, format: "json", mode: "blocking", batch, rotation } as const;
    server = await startForTests({ audit: { policy, log } });
    webhook.answers(() => patchOf({ value: "<1>", path: "/data", op: "add" }));
    const rules = [
      { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
    ];
    const common = { rules, sideEffects: "None", admissionReviewVersions: ["v1"] };
    const configuration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "all" },
      webhooks: [
        { ...common, name: "good.example.com", clientConfig: webhook.at("/") },
        {
          ...common,
          name: "gone.example.com",
          clientConfig: { url: "https://127.0.0.1:1/" },
          failurePolicy: "Ignore",
        },
      ],
    };
    const group = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    assert.equal((await send(server, "POST", group, configuration)).status, 201);
    const probe = () => send(server, "POST", `${configMaps}?dryRun=All`, configMap("probe"));
    await eventually(probe, () => webhook.seen.length > 0);
  });
  after(async () => {
    await server.close();
    webhook.close();
  });

  const good = "webhook.admission.k8s.io/round_0_index_0";
  const gone = "webhook.admission.k8s.io/round_0_index_1";
  const named = { configuration: "all", webhook: "good.example.com" };

  /** The audit annotations of a request that concern webhooks. */
  async function told(verb: string, name: string): Promise<Record<string, string>> {
    const isIt = (event: any) => event.verb === verb && event.objectRef?.name === name;
    const find = async () => lines.map((line) => JSON.parse(line)).find(isIt);
    const { annotations = {} } = (await eventually(find, (event) => event !== undefined)) ?? {};
    const entries = Object.entries<string>(annotations);
    return Object.fromEntries(entries.filter(([key]) => key.includes("webhook")));
  }

  it("record which webhooks mutated, and their patches at level Request", async () => {
    webhook.answers(() => patchOf({ value: { a: "<1>" }, path: "/data", op: "add" }));
    await send(server, "POST", configMaps, configMap("a"));
    const patch =
      '{"configuration":"all","webhook":"good.example.com",' +
      '"patch":[{"op":"add","path":"/data","value":{"a":"\\u003c1\\u003e"}}],' +
      '"patchType":"JSONPatch"}';
    const failed = { configuration: "all", webhook: "gone.example.com", mutated: false };
    const all = {
      [`mutation.${good}`]: JSON.stringify({ ...named, mutated: true }),
      [`patch.${good}`]: patch,
      [`mutation.${gone}`]: JSON.stringify(failed),
      [`failed-open.mutation.${gone}`]: "gone.example.com",
    };
    assert.deepEqual(await told("create", "a"), all);
    await send(server, "PUT", `${configMaps}/a`, configMap("a"));
    const { [`patch.${good}`]: _kept, ...others } = all;
    assert.deepEqual(await told("update", "a"), others);
  });

  it("count calls by result, and rejections by cause", async () => {
    const denial = { allowed: false, status: { message: "no", code: 100_000 } };
    webhook.answers(() => denial);
    assert.equal((await send(server, "POST", configMaps, configMap("b"))).status, 400);
    webhook.answers(() => patchOf({ op: "remove", path: "/no/such/thing" }));
    assert.equal((await send(server, "POST", configMaps, configMap("c"))).status, 500);
    const metrics = await (await server.fetch("/metrics")).text();
    const has = (line: string): void => assert.ok(metrics.includes(line), line);
    const webhookMetric = "apiserver_admission_webhook";
    const good = 'name="good.example.com",type="admit",operation="CREATE"';
    const refusals = `${webhookMetric}_rejection_count{${good}`;
    has(`${refusals},error_type="no_error",rejection_code="400"} 1`);
    has(`${refusals},error_type="apiserver_internal_error",rejection_code="0"}`);
    has(`${webhookMetric}_request_total{${good},code="200",rejected="false"}`);
    has(`${webhookMetric}_fail_open_count{name="gone.example.com",type="admit"}`);
    has(`${webhookMetric}_admission_duration_seconds_bucket{${good},rejected="false",le="25"}`);
  });
});
