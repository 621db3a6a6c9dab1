/** Acts on nodes in place of kubelets, for tests. */
import { quietTurns } from "../../base/testing.ts";
import type { TestRegistry } from "../../registry/testing.ts";
import { listAt } from "../pods/testing.ts";

export const nodesPath = "v1/nodes/";
const leases = "coordination.k8s.io/v1/leases/kube-node-lease";

export const timeOf = (test: TestRegistry): string =>
  new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");

/** A condition that the kubelet has just written. */
export function condition(test: TestRegistry, type: string, status: string): object {
  const time = timeOf(test);
  return { type, status, lastHeartbeatTime: time, lastTransitionTime: time };
}

/** Makes a node that is ready; `ready: ""` = without conditions. */
export async function makeNode(
  test: TestRegistry,
  name: string,
  { ready = "True", labels = {}, spec = {} } = {},
): Promise<void> {
  const conditions = ready === "" ? [] : [condition(test, "Ready", ready)];
  await test.post(nodesPath, { metadata: { name, labels }, spec, status: { conditions } });
}

export async function setCondition(
  test: TestRegistry,
  name: string,
  type: string,
  status: string,
): Promise<void> {
  const { conditions = [] } = (await nodeOf(test, name)).status;
  const others = conditions.filter((each: any) => each.type !== type);
  const next = [...others, condition(test, type, status)];
  await test.patch(`${nodesPath}/${name}/status`, { status: { conditions: next } });
}

/** Renews the Lease of a node, or creates it. */
export async function renewLease(test: TestRegistry, name: string): Promise<void> {
  const spec = { renewTime: new Date(test.clock.now()).toISOString().replace("Z", "000Z") };
  const patched = await test.patch(`${leases}/${name}`, { spec }).catch(() => undefined);
  if (patched === undefined) await test.post(leases, { metadata: { name }, spec });
}

export const nodeOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`${nodesPath}/${name}`)).object;

/** Taints as `key:effect`, in order. */
export async function taintsOf(test: TestRegistry, name: string): Promise<string[]> {
  const { spec } = await nodeOf(test, name);
  const taints: any[] = spec.taints ?? [];
  return taints
    .map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`)
    .sort();
}

/** Makes a running pod on a node. */
export async function makePod(
  test: TestRegistry,
  name: string,
  nodeName: string,
  spec: object = {},
): Promise<void> {
  const containers = [{ name: "c", image: "i" }];
  await test.post("v1/pods/ns", { metadata: { name }, spec: { nodeName, containers, ...spec } });
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: timeOf(test) }];
  const status = { phase: "Running", conditions };
  await test.patch(`v1/pods/ns/${name}/status`, { status });
}

/** Advances the clock in steps, and lets pending work run in between. */
export async function passInSteps(test: TestRegistry, ms: number, stepMs = 500): Promise<void> {
  await quietTurns(10);
  for (let passed = 0; passed < ms; passed += stepMs) {
    test.clock.advance(Math.min(stepMs, ms - passed));
    await quietTurns(10);
  }
}

/** Events about an object, as `type reason: message`, in order. */
export async function eventsOf(
  test: TestRegistry,
  namespace: string,
  name: string,
): Promise<string[]> {
  const events = await listAt(test, `v1/events/${namespace}`);
  const about = events.filter(({ involvedObject }) => involvedObject.name === name);
  return about.map(({ type, reason, message }) => `${type} ${reason}: ${message}`).sort();
}
