/** Clients of addresses that the API names, and an observer of the connections of this process. */
import { Socket } from "node:net";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import type { Cluster } from "./cluster.ts";

export const pods = "/api/v1/namespaces/default/pods";
export const services = "/api/v1/namespaces/default/services";
const configMaps = "/api/v1/namespaces/default/configmaps";
export const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
export const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Connections of this process to other hosts than loopback, which are refused. */
export class Dials {
  readonly hosts: string[] = [];
  // oxlint-disable-next-line typescript/unbound-method
  private readonly original = Socket.prototype.connect;

  constructor() {
    const { hosts, original } = this;
    Socket.prototype.connect = function (this: Socket, ...words: any[]) {
      const [first] = words;
      const options = Array.isArray(first) ? first[0] : first;
      const host: string = options?.host ?? "localhost";
      if (/^(?:127\.|::1$|localhost$)/.test(host)) {
        return original.apply(this, words as never);
      }
      hosts.push(host);
      process.nextTick(() => this.destroy(Object.assign(new Error("refused"), { code: "EPERM" })));
      return this;
    } as typeof original;
  }

  [Symbol.dispose](): void {
    Socket.prototype.connect = this.original;
  }
}

/** A simulated pod with its addresses. */
export interface Place {
  readonly cluster: Cluster;
  readonly name: string;
  readonly addresses: readonly string[];
}

export type Client = (place: Place) => Promise<string>;

export const noProgram = /no program runs there/;
let serial = 0;

export function uniqueName(prefix: string): string {
  return `${prefix}${serial++}`;
}

export async function answerOf(
  server: RunningServer,
  path: string,
  init?: RequestInit,
): Promise<string> {
  const answer = await server.fetch(path, init);
  return `${answer.status} ${await answer.text()}`;
}

/** A Service with an EndpointSlice of one endpoint, without a selector. */
export async function serviceOf({ cluster }: Place, endpoint: object, addressType = "IPv4") {
  const name = uniqueName("s");
  await cluster.create(services, { metadata: { name }, spec: { ports: [{ port: 443 }] } });
  await cluster.create(slices, {
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    addressType,
    ports: [{ name: "", port: 8443 }],
    endpoints: [endpoint],
  });
  return name;
}

/** An ordinary node that reports the address of the pod as its own. */
export async function nodeAt({ cluster, addresses }: Place): Promise<string> {
  const name = uniqueName("n");
  await cluster.create("/api/v1/nodes", { metadata: { name } });
  const address = { type: "InternalIP", address: addresses[0] };
  await cluster.patch(`/api/v1/nodes/${name}/status`, { status: { addresses: [address] } });
  return name;
}

/** The response to a write that calls a webhook. */
export async function callWebhook({ cluster }: Place, clientConfig: object): Promise<string> {
  const name = uniqueName("w");
  await cluster.create(webhooks, {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig,
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["configmaps"],
          },
        ],
        objectSelector: { matchLabels: { webhook: name } },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
      },
    ],
  });
  const body = JSON.stringify({ metadata: { generateName: "c-", labels: { webhook: name } } });
  const headers = { "content-type": "application/json" };
  const end = performance.now() + 30_000;
  for (;;) {
    const answer = await answerOf(cluster.server, configMaps, { method: "POST", headers, body });
    // The configuration is followed by a watch.
    if (!answer.startsWith("201") || performance.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const inService = (name: string) => ({ service: { namespace: "default", name } });

export async function callAggregated(place: Place, name: string): Promise<string> {
  const { cluster } = place;
  const group = `${uniqueName("g")}.example.com`;
  await cluster.create(apiServices, {
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: "v1",
      groupPriorityMinimum: 1,
      versionPriority: 1,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name },
    },
  });
  const { status } = await cluster.until(
    `${apiServices}/v1.${group}`,
    (found) => found.status?.conditions?.[0] !== undefined,
  );
  return `503 ${status.conditions[0].reason}: ${status.conditions[0].message}`;
}

export function podSpec(nodeName: string) {
  const containers = [{ name: "c", image: "i", ports: [{ containerPort: 8080 }] }];
  return { nodeName, containers, terminationGracePeriodSeconds: 0 };
}
