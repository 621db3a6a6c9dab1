import type { TestRegistry } from "../../registry/testing.ts";
import { collected } from "../../registry/testing.ts";

/** Acts on pods in place of schedulers and kubelets, for tests. */

export const podTemplate = (labels: Readonly<Record<string, string>>, image = "i") => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }] },
});

/** All objects at a path of a collection, in order of name. */
export async function listAt(test: TestRegistry, path: string): Promise<any[]> {
  return (await collected((await test.list(path)).items)).map(({ object }) => object);
}

/** Pods of the namespace `ns` that do not terminate. */
export async function livePods(test: TestRegistry): Promise<any[]> {
  const pods = await listAt(test, "v1/pods/ns");
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** Sets the phase and readiness of a pod, as its kubelet would. */
export async function setPodStatus(
  test: TestRegistry,
  name: string,
  { ready = true, phase = "Running", more = {} } = {},
): Promise<void> {
  const lastTransitionTime = new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");
  const conditions = [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime }];
  await test.patch(`v1/pods/ns/${name}/status`, { status: { phase, conditions, ...more } });
}

/** Makes all live pods ready that are not. */
export async function makePodsReady(test: TestRegistry): Promise<void> {
  for (const { metadata, status } of await livePods(test)) {
    const isEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
    const ready = status?.conditions?.find(({ type }: any) => type === "Ready");
    if (!isEnded && ready?.status !== "True") await setPodStatus(test, metadata.name);
  }
}
