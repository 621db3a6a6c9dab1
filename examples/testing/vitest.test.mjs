/** Tests of `labelOnce` with Vitest: a fork of one server per test. Run by `npx vitest run`. */
import { afterAll, beforeAll, expect, test as base } from "vitest";
import { testServer } from "keelson/testing";
import { labelOnce } from "./label.mjs";

const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
let server;
beforeAll(async () => {
  server = await testServer();
  await server.apply(config);
});
afterAll(() => server.close());

/** `fork` is a server of the test's own. */
const test = base.extend({
  fork: async ({}, use) => {
    const fork = await server.fork();
    await use(fork);
    await fork.close();
  },
});

test("labels in spite of a conflict", async ({ fork }) => {
  fork.faults.next({ verb: "update", resource: "configmaps", fail: 409 });
  expect(await labelOnce(fork.fetch, "a")).toBe(200);
  fork.requests.expectAtMost(2, { verb: "write" });
});

test("starts without the label that another test has set", async ({ fork }) => {
  const { metadata } = await fork.waitFor(config, "create");
  expect(metadata.labels).toBeUndefined();
});
