import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { type Clock, printJson, TypedFields, textWithin, parseJsonText } from "#base";
import { namespaceOf, type Pod } from "#kinds";
import { TlsAgent } from "#pki";
import type { PreemptionVictims } from "../framework/handle.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { ExtenderOptions } from "./extender-options.ts";

/** Maximum response size in bytes: several thousand complete nodes. */
const maxResponseBytes = 64 * 2 ** 20;
const maxConnections = 100;
const maxExtenderScore = 10;

/** Extenders are decoded by encoding/json. */
const decoding = { ignoresCase: true } as const;

export interface ExtenderFilterResult {
  readonly nodes: readonly NodeInfo[];
  /** Reasons by node. */
  readonly failed: ReadonlyMap<string, string>;
  /** Reasons of nodes on which preemption does not help. */
  readonly unresolvable: ReadonlyMap<string, string>;
}

/** Client of kube-scheduler's extender API v1: POSTs JSON to `URL/VERB`. */
export class HttpExtender {
  private readonly agent: HttpAgent;

  constructor(
    readonly options: ExtenderOptions,
    private readonly signal: AbortSignal,
    /** Times the calls. */
    private readonly clock: Clock,
  ) {
    const common = { keepAlive: true, maxSockets: maxConnections };
    this.agent = options.url.startsWith("https:")
      ? new TlsAgent({ ...common, ...options.tls })
      : new HttpAgent(common);
    signal.addEventListener("abort", () => this.agent.destroy(), { once: true });
  }

  /** Whether a container of the pod uses a resource that the extender manages. */
  isInterested({ spec }: Pod): boolean {
    const { managedResources } = this.options;
    if (managedResources.size === 0) return true;
    return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some(({ resources }) => {
      const names = [
        ...Object.keys(resources?.requests ?? {}),
        ...Object.keys(resources?.limits ?? {}),
      ];
      return names.some((name) => managedResources.has(name));
    });
  }

  async filter(pod: Pod, nodes: readonly NodeInfo[]): Promise<ExtenderFilterResult> {
    const { filterVerb, nodeCacheCapable, url } = this.options;
    const answer = await this.call(filterVerb, this.args(pod, nodes));
    const result = TypedFields.of(answer, "v1.ExtenderFilterResult", decoding);
    const names = result.texts("NodeNames");
    const nodeNames = namesOf(result.object("Nodes"));
    const failed = result.textMap("FailedNodes");
    const unresolvable = result.textMap("FailedAndUnresolvableNodes");
    const error = result.text("Error");
    if (error !== "") throw new Error(error);
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const kept = nodeCacheCapable && result.has("NodeNames") ? names : nodeNames;
    return {
      nodes: kept.map((name) => {
        const node = byName.get(name);
        if (node !== undefined) return node;
        throw new Error(
          `extender "${url}" claims a filtered node "${name}" which is not found in the ` +
            "input node list",
        );
      }),
      failed,
      unresolvable,
    };
  }

  /** Weighted scores by node, scaled to the range of plugins. */
  async prioritize(pod: Pod, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>> {
    const { prioritizeVerb, weight } = this.options;
    const list = await this.call(prioritizeVerb, this.args(pod, nodes));
    const scores = new Map<string, number>();
    for (const item of TypedFields.listOf(list, "v1.HostPriority", decoding)) {
      const [host, score] = [item.text("Host"), item.integer("Score")];
      const scaled = score * weight * (100 / maxExtenderScore);
      scores.set(host, (scores.get(host) ?? 0) + scaled);
    }
    return scores;
  }

  async bind({ metadata }: Pod, node: string): Promise<void> {
    const answer = await this.call(this.options.bindVerb, {
      PodName: metadata.name,
      PodNamespace: namespaceOf({ metadata }),
      PodUID: metadata.uid,
      Node: node,
    });
    const error = TypedFields.of(answer, "v1.ExtenderBindingResult", decoding).text("Error");
    if (error !== "") throw new Error(error);
  }

  /** Returns the candidates that the extender accepts, with its victims. */
  async preempt(
    pod: Pod,
    candidates: readonly PreemptionVictims[],
    nodeOf: (name: string) => NodeInfo | undefined,
  ): Promise<readonly PreemptionVictims[]> {
    const { preemptVerb, nodeCacheCapable, url } = this.options;
    const byNode = candidates.map(({ node, victims, violations }) => {
      const pods = nodeCacheCapable
        ? victims.map(({ metadata }) => ({ UID: metadata.uid }))
        : victims;
      return [node, { Pods: pods, NumPDBViolations: violations }] as const;
    });
    const map = Object.fromEntries(byNode);
    const answer = await this.call(preemptVerb, {
      Pod: pod,
      NodeNameToVictims: nodeCacheCapable ? null : map,
      NodeNameToMetaVictims: nodeCacheCapable ? map : null,
    });
    const result = TypedFields.of(answer, "v1.ExtenderPreemptionResult", decoding);
    const left = result.object("NodeNameToMetaVictims");
    return left.keys().map((node) => {
      const fields = left.object(node);
      const [pods, violations] = [fields.objects("Pods"), fields.integer("NumPDBViolations")];
      const info = nodeOf(node);
      if (info === undefined) throw new Error(`nodeinfo not found for node name "${node}"`);
      const victims = pods.map((item) => {
        const uid = item.text("UID");
        const found = info.pods.find((each) => each.pod.metadata.uid === uid);
        if (found !== undefined) return found.pod;
        throw new Error(
          `extender: ${url} claims to preempt pod (UID: ${uid}) on node: ${node}, but the pod is ` +
            "not found on that node",
        );
      });
      return { node, victims, violations };
    });
  }

  private args(pod: Pod, nodes: readonly NodeInfo[]): object {
    const { nodeCacheCapable } = this.options;
    return {
      Pod: pod,
      Nodes: nodeCacheCapable ? null : { metadata: {}, items: nodes.map(({ node }) => node) },
      NodeNames: nodeCacheCapable ? nodes.map(({ name }) => name) : null,
    };
  }

  /** Sends a call and parses the JSON response. Does not follow redirects. */
  private async call(verb: string, args: object): Promise<unknown> {
    const { url, timeoutMs } = this.options;
    const target = `${url}/${verb}`;
    const ended = new AbortController();
    const stop = () => ended.abort();
    const answered = new AbortController();
    this.clock.sleep(timeoutMs, answered.signal, { background: true }).then(stop, () => undefined);
    this.signal.addEventListener("abort", stop, { once: true });
    try {
      this.signal.throwIfAborted();
      const answer = await this.exchange(target, Buffer.from(printJson(args)), ended.signal);
      const text = await textWithin(answer, maxResponseBytes);
      if (answer.statusCode !== 200) {
        throw new Error(
          `failed ${verb} with extender at URL ${target}, code ${answer.statusCode ?? 0}`,
        );
      }
      if (text === undefined)
        throw new Error(`the response is longer than ${maxResponseBytes} bytes`);
      return parseJsonText(text) as unknown;
    } catch (error) {
      this.signal.throwIfAborted();
      if (!ended.signal.aborted) throw error;
      throw new Error(`Post "${target}": context deadline exceeded`, { cause: error });
    } finally {
      answered.abort();
      this.signal.removeEventListener("abort", stop);
    }
  }

  private exchange(url: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { "content-type": "application/json", "content-length": body.byteLength };
    return new Promise((resolve, reject) => {
      const request = httpRequest(url, { method: "POST", headers, agent: this.agent, signal });
      request.once("response", resolve);
      request.once("error", reject);
      request.end(body);
    });
  }
}

/** Names of the items of a NodeList. */
function namesOf(list: TypedFields): readonly string[] {
  return list.objects("items").map((item) => item.object("metadata").text("name"));
}
