/** Acts on pods of Jobs in place of kubelets, for tests. */
import { quietTurns } from "../../../base/testing.ts";
import type { TestRegistry } from "../../../registry/testing.ts";
import { listAt } from "../../pods/testing.ts";

export const jobsPath = "batch/v1/jobs/ns";
const completionIndex = "batch.kubernetes.io/job-completion-index";

export async function makeJob(test: TestRegistry, name: string, spec: object = {}): Promise<any> {
  const containers = [{ name: "c", image: "i" }];
  const template = { spec: { restartPolicy: "Never", containers } };
  return (await test.post(jobsPath, { metadata: { name }, spec: { template, ...spec } })).item
    .object;
}

export const jobStatus = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${jobsPath}/${name}`)).object.status ?? {};

/** Pods that run or will run, in order of name. */
export async function activePods(test: TestRegistry): Promise<any[]> {
  const pods = await listAt(test, "v1/pods/ns");
  return pods.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.phase !== "Succeeded" &&
      status?.phase !== "Failed",
  );
}

/** Ends a pod with an exit code, now. */
export async function endPod(
  test: TestRegistry,
  name: string,
  exitCode: number,
  more: object = {},
): Promise<void> {
  const finishedAt = new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");
  const state = { terminated: { exitCode, finishedAt, startedAt: finishedAt } };
  const container = { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state };
  const phase = exitCode === 0 ? "Succeeded" : "Failed";
  await test.patch(`v1/pods/ns/${name}/status`, {
    status: { phase, containerStatuses: [container], ...more },
  });
}

/** Index of a pod of an Indexed Job. */
export const indexOf = ({ metadata }: any): string | undefined =>
  metadata.annotations?.[completionIndex];

/** Lets pending work run, then advances the clock. */
export async function pass(test: TestRegistry, ms: number): Promise<void> {
  await quietTurns(10);
  test.clock.advance(ms);
  await quietTurns(10);
}

export const conditionTypes = ({ conditions = [] }: any): string[] =>
  conditions
    .filter(({ status }: any) => status === "True")
    .map(({ type, reason }: any) => `${type}:${reason}`);
