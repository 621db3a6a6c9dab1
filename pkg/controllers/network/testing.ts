/** Services, pods and nodes for tests of the endpoints' controllers. */
import type { TestRegistry } from "../../registry/testing.ts";
import { listAt } from "../pods/testing.ts";

export const labels = { app: "web" };

export async function makeNode(test: TestRegistry, name: string, zone = ""): Promise<void> {
  const zoned = zone === "" ? {} : { "topology.kubernetes.io/zone": zone };
  await test.post("v1/nodes", { metadata: { name, labels: zoned } });
  const times = { lastHeartbeatTime: timeOf(test), lastTransitionTime: timeOf(test) };
  const conditions = [{ type: "Ready", status: "True", ...times }];
  await test.patch(`v1/nodes//${name}/status`, {
    status: { allocatable: { cpu: "4" }, conditions },
  });
}

const timeOf = ({ clock }: TestRegistry) =>
  new Date(clock.now()).toISOString().replace(/\.\d+/, "");

export interface PodOptions {
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly nodeName?: string;
  readonly ports?: readonly object[];
  readonly spec?: object;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A pod that runs on a node, with addresses. */
export async function runPod(test: TestRegistry, name: string, options: PodOptions): Promise<void> {
  const { ips = [], ready = true, nodeName = "n1", ports = [], spec = {} } = options;
  await test.post("v1/pods/ns", {
    metadata: { name, labels: options.labels ?? labels },
    spec: { nodeName, containers: [{ name: "c", image: "i", ports }], ...spec },
  });
  await setPod(test, name, { ready, ips });
}

export async function setPod(
  test: TestRegistry,
  name: string,
  { ready, ips }: { readonly ready: boolean; readonly ips?: readonly string[] },
): Promise<void> {
  const status = ready ? "True" : "False";
  const conditions = [{ type: "Ready", status, lastTransitionTime: timeOf(test) }];
  const podIPs = ips?.map((ip) => ({ ip }));
  const addresses = podIPs === undefined ? {} : { podIP: ips?.[0], podIPs };
  await test.patch(`v1/pods/ns/${name}/status`, {
    status: { phase: "Running", conditions, ...addresses },
  });
}

export async function makeService(
  test: TestRegistry,
  name: string,
  spec: object = {},
  metadata: object = {},
): Promise<any> {
  const body = {
    metadata: { name, ...metadata },
    spec: { selector: labels, ports: [{ port: 80 }], ...spec },
  };
  return (await test.post("v1/services/ns", body)).item.object;
}

/** EndpointSlices of the namespace `ns`, in order of name. */
export const slicesOf = (test: TestRegistry): Promise<any[]> =>
  listAt(test, "discovery.k8s.io/v1/endpointslices/ns");

/** `IP ready/serving/terminating` of each endpoint. */
export const shownEndpoints = (slices: readonly any[]): string[] =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .map(({ addresses, conditions = {} }) => {
      const flags = [conditions.ready, conditions.serving, conditions.terminating];
      return `${addresses.join()} ${flags.map((flag) => (flag === true ? "1" : "0")).join("")}`;
    })
    .sort();
