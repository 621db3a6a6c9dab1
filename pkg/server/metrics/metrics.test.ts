import assert from "node:assert/strict";
import { PrometheusMetrics } from "./metrics.ts";
import type { RequestRecord } from "./requests.ts";

const record: RequestRecord = {
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  scope: "resource",
  dryRun: false,
  longRunning: false,
  queueWaitMs: 0,
  seatedMs: 0,
  code: 200,
  bytes: 1500,
};

async function linesOf(metrics: PrometheusMetrics, start: string): Promise<readonly string[]> {
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith(start));
  return lines.map((line) => line.replace(/component="apiserver",?/, ""));
}

describe("metrics", () => {
  it("count requests by verb and code, and observe their latency and response size", async () => {
    const metrics = new PrometheusMetrics();
    const { requests } = metrics;
    requests.finished(record, 0.001);
    requests.finished({ ...record, code: 404 }, 0.03);
    requests.finished(record, 70);
    requests.finished({ ...record, verb: "watch", longRunning: true }, 1000);
    const counts = await linesOf(metrics, "apiserver_request_total");
    assert.deepEqual(
      counts.map((line) => line.replace(/.*verb="(\w+)".*code="(\d+)"} (\d+)/, "$1 $2 $3")),
      ["GET 200 2", "GET 404 1", "WATCH 200 1"],
    );
    const name = "apiserver_request_duration_seconds";
    const buckets = await linesOf(metrics, `${name}_bucket`);
    const values = buckets.map((line) => line.replace(/.*le="([^"]+)".* (\d+)$/, "$1:$2"));
    assert.deepEqual(values.slice(0, 4), ["0.005:1", "0.025:1", "0.05:2", "0.1:2"]);
    assert.deepEqual(values.slice(-2), ["60:2", "+Inf:3"]);
    assert.match((await linesOf(metrics, `${name}_count`)).join(), / 3$/);
    assert.match((await linesOf(metrics, `${name}_sum`)).join(), / 70\.031$/);
    const text = await metrics.text();
    assert.match(text, /# TYPE apiserver_request_duration_seconds histogram/);
    assert.match(text, /apiserver_request_sli_duration_seconds_bucket\{[^}]*le="5"\} 2/);
    assert.match(text, /apiserver_response_sizes_bucket\{verb="GET"[^}]*le="10000"\} 3/);
    assert.doesNotMatch(text, /duration_seconds_count\{verb="WATCH"/);
  });

  it("are bounded when clients invent verbs or label values", async () => {
    const metrics = new PrometheusMetrics();
    for (let i = 0; i < 50; i++) {
      metrics.requests.finished({ ...record, verb: `made-up-${i}` }, 1);
    }
    const counts = await linesOf(metrics, "apiserver_request_total");
    assert.equal(counts.length, 1);
    assert.match(counts[0]!, /verb="other".* 50$/);
    const labels = ["name"];
    const definition = { name: "x_total", kind: "counter", help: "Test metric.", labels } as const;
    const family = metrics.instruments.family(definition);
    for (let i = 0; i < 10_010; i++) family.with([String(i)]).value++;
    const lines = await linesOf(metrics, "x_total");
    assert.equal(lines.length, 10_001);
    assert.match(lines.at(-1)!, /name="other"} 10$/);
  });

  it("show requests in flight, rejected requests, filter latency and event loop stalls", async () => {
    const metrics = new PrometheusMetrics();
    metrics.seats("readOnly", 3);
    metrics.requests.longRunning({ ...record, verb: "watch" }, 1);
    metrics.requests.finished({ ...record, code: 429 }, 0);
    metrics.stage("authorize")!(2);
    metrics.stage("authorize")!(4);
    metrics.stall(0.5);
    const text = await metrics.text();
    assert.match(text, /apiserver_current_inflight_requests{request_kind="readOnly"} 3/);
    assert.match(text, /apiserver_longrunning_requests{verb="WATCH",.*resource="deployments".*} 1/);
    assert.match(text, /apiserver_request_terminations_total{code="429",verb="GET".*} 1/);
    const filter = 'apiserver_request_filter_duration_seconds_count{filter="authorization"}';
    assert.ok(text.includes(`${filter} 2`));
    assert.match(text, /keelson_event_loop_stalls_total 1/);
    assert.match(text, /keelson_event_loop_stall_seconds_total 0.5/);
    assert.match(text, /kubernetes_build_info\{.*major="1",minor="34".*\} 1/);
  });

  it("count users under a few names that are not personal data", async () => {
    const metrics = new PrometheusMetrics();
    const user = (name: string) => ({ user: { name, uid: "", groups: [], extra: new Map() } });
    for (const name of ["admin", "ada@example.org", "eve", "bob"]) {
      metrics.access.authenticated(user(name), 0.001);
    }
    metrics.access.authenticated("failure", 0.001);
    metrics.access.authorized({ verdict: "no-opinion", reason: "" }, 0.001);
    metrics.access.authorized({ verdict: "no-opinion", reason: "", error: "x" }, 0.001);
    const users = await linesOf(metrics, "authenticated_user_requests");
    assert.deepEqual(users, [
      'authenticated_user_requests{username="admin"} 1',
      'authenticated_user_requests{username="email_id"} 1',
      'authenticated_user_requests{username="other"} 2',
    ]);
    const attempts = await linesOf(metrics, "authentication_attempts");
    assert.deepEqual(attempts, [
      'authentication_attempts{result="success"} 4',
      'authentication_attempts{result="failure"} 1',
    ]);
    const decisions = (await linesOf(metrics, "authorization_attempts_total")).join();
    assert.match(decisions, /result="no-opinion"} 1.*result="error"} 1/);
  });
});
