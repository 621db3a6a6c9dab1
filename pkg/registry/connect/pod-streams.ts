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

/** Destination of the log; undefined for a pod without a node, whose log is empty. */
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
  const to = await onNode(registry, request, { pod, path, pairs: logQuery(options) });
  const { insecure } = options;
  return { ...to, use: "log", ...(insecure ? { peer: "kubelet, unchecked" as const } : {}) };
}

export async function execDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { query }: ConnectRequest,
): Promise<Destination> {
  const pod = await podOf(registry, request);
  const container = containerOf(pod, query.get("container") ?? "");
  checkAssigned(pod, request.name);
  const streams: readonly Pair[] = [
    ["stdin", "input"],
    ["stdout", "output"],
    ["stderr", "error"],
    ["tty", "tty"],
  ];
  const pairs = streams.filter(([asked]) => query.flag(asked)).map(([, name]): Pair => [name, "1"]);
  const isExec = request.subresource === "exec";
  const words = isExec ? query.all("command").map((word): Pair => ["command", word]) : [];
  const path = streamPath(request.subresource, pod, container);
  return onNode(registry, request, { pod, path, pairs: [...pairs, ...words] });
}

export async function portForwardDestination(
  registry: RegistryContext,
  request: ResourceRequest,
  { query }: ConnectRequest,
): Promise<Destination> {
  const ports = query.all("ports").map((port): Pair => ["port", wholeNumber(port)]);
  const pod = await podOf(registry, request);
  checkAssigned(pod, request.name);
  return onNode(registry, request, { pod, path: streamPath("portForward", pod), pairs: ports });
}

function wholeNumber(text: string): string {
  if (/^[+-]?\d+$/.test(text)) return String(Number(text));
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function podOf(registry: RegistryContext, request: ResourceRequest): Promise<any> {
  return coreObject(registry, request, { plural: "pods", name: request.name });
}

interface OnNode {
  readonly pod: any;
  readonly path: string;
  readonly pairs: readonly Pair[];
}

async function onNode(
  registry: RegistryContext,
  request: ResourceRequest,
  { pod, path, pairs }: OnNode,
): Promise<Destination> {
  const kubelet = await kubeletOf(registry, request, pod.spec.nodeName);
  const query = queryText(pairs);
  return { scheme: "https", ...kubelet, path, query, peer: "kubelet", use: "upgrade" };
}

function streamPath(what: string, { metadata }: any, container = ""): string {
  const parts = [what, metadata.namespace, metadata.name, container].filter((part) => part !== "");
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
    const all = [...initContainers, ...containers, ...(spec.ephemeralContainers ?? [])];
    if (all.some(({ name }) => name === requested)) return requested;
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
