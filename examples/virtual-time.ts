/** A day of an hourly CronJob in seconds: the test moves the time of the cluster. */
import assert from "node:assert/strict";
// In your own project: import { startServer, VirtualClock } from "keelson";
import { startServer, VirtualClock } from "../cmd/keelson/index.ts";

const hour = 3_600_000;
const batch = "/apis/batch/v1/namespaces/default";

interface Job {
  readonly metadata: { readonly creationTimestamp: string };
  readonly status: { readonly completionTime?: string; readonly succeeded?: number };
}

/** Returns the start and the end of the Jobs that ran. */
export async function testDayOfCronJobs(): Promise<readonly string[]> {
  const clock = new VirtualClock({ start: "2030-01-01T00:30:00Z" });
  const server = await startServer({ clock, scheduler: true, nodes: { count: 1 } });
  const container = { name: "report", image: "registry.example/report" };
  const body = JSON.stringify({
    metadata: { name: "report" },
    spec: {
      schedule: "0 * * * *",
      successfulJobsHistoryLimit: 3,
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } },
      },
    },
  });
  const headers = { "content-type": "application/json" };
  const { status } = await server.fetch(`${batch}/cronjobs`, { method: "POST", headers, body });
  assert.equal(status, 201);

  const seen: string[] = [];
  for (let passed = 0; passed < 24; passed++) {
    await clock.advance(hour);
    const response = await server.fetch(`${batch}/jobs`);
    const { items } = (await response.json()) as { readonly items: readonly Job[] };
    assert.equal(items.length, Math.min(passed + 1, 3), "the history is trimmed");
    const { metadata, status } = items.at(-1)!;
    assert.equal(status.succeeded, 1);
    seen.push(`${metadata.creationTimestamp} ${status.completionTime}`);
  }
  await server.close();
  return seen;
}
