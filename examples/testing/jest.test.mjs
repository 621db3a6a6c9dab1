/**
 * Tests of `labelOnce` with Jest: one server, which is reset after each test. Run by
 * `node --experimental-vm-modules node_modules/jest/bin/jest.js`, as the kit is an ES module.
 */
import { testServer } from "keelson/testing";
import { labelOnce } from "./label.mjs";

const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
let server;
beforeAll(async () => {
  server = await testServer();
});
beforeEach(() => server.apply(config));
afterEach(() => server.reset());
afterAll(() => server.close());

test("labels in spite of a conflict", async () => {
  server.faults.next({ verb: "update", resource: "configmaps", fail: 409 });
  expect(await labelOnce(server.fetch, "a")).toBe(200);
  server.requests.expectAtMost(2, { verb: "write" });
});

test("starts without the label that another test has set", async () => {
  const { metadata } = await server.waitFor(config, "create");
  expect(metadata.labels).toBeUndefined();
});
