import { badRequest } from "#meta";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { type ConnectRequest, type Destination, queryText } from "./destination.ts";
import { kubeletOf } from "./kubelet.ts";
import { logOptions, logQuery } from "./log-options.ts";
import { coreObject } from "./lookup.ts";

/** Streams of a pod that its kubelet serves. */

type Pair = readonly [string, string];

interface NamedContainer {
  readonly name: string;
}

/** The kubelet's containerLogs endpoint; undefined for a pod without a node, whose log is empty. */
export async function logDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { query }: ConnectRequest,
): Promise<Destination | undefined> {
  const options = logOptions(query, { pod: request.name, gates: registry.gates });
  const pod = await podOf(registry, request);
  const container = containerOf(pod, options.container);
  if (!pod.spec.nodeName) return undefined;
  const path = streamPath("containerLogs", pod, container);
  const kubelet = await kubeletDestination(registry, request, {
    pod,
    path,
    pairs: logQuery(options),
  });
  return { ...kubelet, use: "log", peer: options.insecure ? "kubelet, unchecked" : "kubelet" };
}

/** The kubelet's exec or attach endpoint. */
export async function execDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { query }: ConnectRequest,
): Promise<Destination> {
  const pod = await podOf(registry, request);
  const container = containerOf(pod, query.get("container") ?? "");
  checkAssigned(pod, request.name);
  const streams = kubeletStreamFlags
    .filter(([option]) => query.flag(option))
    .map(([, flag]): Pair => [flag, "1"]);
  const isExec = request.subresource === "exec";
  const command = isExec ? query.all("command").map((word): Pair => ["command", word]) : [];
  const path = streamPath(request.subresource, pod, container);
  return kubeletDestination(registry, request, { pod, path, pairs: [...streams, ...command] });
}

/** Query parameters of the API and of the kubelet for the streams of exec and attach. */
const kubeletStreamFlags: readonly (readonly [option: string, flag: string])[] = [
  ["stdin", "input"],
  ["stdout", "output"],
  ["stderr", "error"],
  ["tty", "tty"],
];

/** The kubelet's portForward endpoint. */
export async function portForwardDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { query }: ConnectRequest,
): Promise<Destination> {
  const ports = query.all("ports").map((port): Pair => ["port", parseInteger(port)]);
  const pod = await podOf(registry, request);
  checkAssigned(pod, request.name);
  const path = streamPath("portForward", pod);
  return kubeletDestination(registry, request, { pod, path, pairs: ports });
}

function parseInteger(text: string): string {
  if (/^[+-]?\d+$/.test(text)) return String(Number(text));
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function podOf(registry: RegistryContext, request: ResourceRequest): Promise<any> {
  return coreObject(registry, request, { plural: "pods", name: request.name });
}

interface StreamEndpoint {
  readonly pod: any;
  readonly path: string;
  readonly pairs: readonly Pair[];
}

async function kubeletDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { pod, path, pairs }: StreamEndpoint,
): Promise<Destination> {
  const kubelet = await kubeletOf(registry, request, pod.spec.nodeName);
  const query = queryText(pairs);
  return { scheme: "https", ...kubelet, path, query, peer: "kubelet", use: "upgrade" };
}

function streamPath(endpoint: string, { metadata }: any, container = ""): string {
  const parts = [endpoint, metadata.namespace, metadata.name, container].filter(
    (part) => part !== "",
  );
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

function checkAssigned({ spec }: any, name: string): void {
  if (!spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`);
}

/** The requested container, or the only one. Throws 400 if it is ambiguous or does not exist. */
function containerOf({ metadata, spec }: any, requested: string): string {
  const containers: readonly NamedContainer[] = spec.containers ?? [];
  const initContainers: readonly NamedContainer[] = spec.initContainers ?? [];
  if (requested !== "") {
    const { ephemeralContainers = [] } = spec;
    const known: readonly NamedContainer[] = [
      ...initContainers,
      ...containers,
      ...ephemeralContainers,
    ];
    if (known.some(({ name }) => name === requested)) return requested;
    throw badRequest(`container ${requested} is not valid for pod ${metadata.name}`);
  }
  if (containers.length === 1) return containers[0]!.name;
  const missing = `a container name must be specified for pod ${metadata.name}`;
  if (containers.length === 0) throw badRequest(missing);
  const choice = `${missing}, choose one of: [${namesOf(containers)}]`;
  if (initContainers.length === 0) throw badRequest(choice);
  throw badRequest(`${choice} or one of the init containers: [${namesOf(initContainers)}]`);
}

function namesOf(containers: readonly NamedContainer[]): string {
  return containers.map(({ name }) => name).join(" ");
}
