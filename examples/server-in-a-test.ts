/** A test of the controller against a real API server, in process: no port, no container, no mocks. */
import assert from "node:assert/strict";
// In your own project: import { startServer } from "keelson";
import { startServer } from "../cmd/keelson/index.ts";
import { runSummaryController } from "./controller.ts";

export async function testSummaryController(): Promise<void> {
  const server = await startServer();
  const stop = new AbortController();
  const running = runSummaryController(server.fetch, "default", stop.signal);
  const collection = "/api/v1/namespaces/default/configmaps";
  for (const name of ["a", "b"]) {
    const body = JSON.stringify({ metadata: { name } });
    const headers = { "content-type": "application/json" };
    const { status } = await server.fetch(collection, { method: "POST", headers, body });
    assert.equal(status, 201);
  }
  await until(async () => {
    const response = await server.fetch(`${collection}/summary`);
    const summary = (await response.json()) as { data?: { count: string } };
    return response.ok && summary.data?.count === "2";
  });
  stop.abort();
  await running;
  await server.close();
}

/** Polls a condition for at most ten seconds. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error("the condition has not become true");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
