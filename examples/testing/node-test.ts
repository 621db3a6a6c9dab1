/** Tests of the controller with node:test: a fork of one server per test, and faults. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, it } from "node:test";
// In your own project: import { type TestServer, testServer } from "keelson/testing";
import { type TestServer, testServer } from "../../cmd/keelson/testing-kit.ts";
import { runSummaryController } from "../controller.ts";

const summary = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "summary" } };
const counts = (count: number) => `jsonpath={.data.count}=${count}`;

let base: TestServer;
let server: TestServer;
let stop: AbortController;

before(async () => {
  base = await testServer();
  // What all tests share is applied once; a path of a file will do as well.
  await base.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: first } }");
});
after(() => base.close());

beforeEach(async () => {
  server = await base.fork();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await server.close();
});

it("counts the ConfigMaps of the namespace", async () => {
  const running = runSummaryController(server.fetch, "default", stop.signal);
  await server.waitFor(summary, counts(1));
  await server.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "second" } });
  await server.waitFor(summary, counts(2));
  server.requests.expectNoHotLoop();
  stop.abort();
  await running;
});

it("goes on after its watch has expired", async () => {
  const running = runSummaryController(server.fetch, "default", stop.signal);
  await server.waitFor(summary, counts(1));
  server.faults.expireWatches({ resource: "configmaps" });
  await server.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "second" } });
  await server.waitFor(summary, counts(2));
  stop.abort();
  await running;
});

it("reports a write that fails", async () => {
  server.faults.next({ verb: "patch", resource: "configmaps", fail: 500 });
  await assert.rejects(runSummaryController(server.fetch, "default", stop.signal), /^Error: 500/);
  server.requests.expectAtMost(1, { verb: "write" });
});
