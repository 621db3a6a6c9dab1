import type { Resource } from "#meta";
import { runHandlers } from "../admission/handler.ts";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { connectOptions } from "./connect-options.ts";
import type { ConnectRequest, Destination } from "./destination.ts";
import { execDestination, logDestination, portForwardDestination } from "./pod-streams.ts";
import { nodeProxy, podProxy, serviceProxy } from "./proxies.ts";

type FindDestination = (
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
) => Promise<Destination | undefined>;

interface ConnectSubresource {
  readonly find: FindDestination;
  /** HTTP methods that the subresource accepts. */
  readonly methods: readonly string[];
}

const anyMethod = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const upgradeMethods = ["GET", "POST"];

/** By the key prefix of the resource and the name of the subresource. */
const connectSubresources: Readonly<Record<string, ConnectSubresource>> = {
  "/pods/log": { find: logDestination, methods: ["GET"] },
  "/pods/exec": { find: execDestination, methods: upgradeMethods },
  "/pods/attach": { find: execDestination, methods: upgradeMethods },
  "/pods/portforward": { find: portForwardDestination, methods: upgradeMethods },
  "/pods/proxy": { find: podProxy, methods: anyMethod },
  "/minions/proxy": { find: nodeProxy, methods: anyMethod },
  "/services/specs/proxy": { find: serviceProxy, methods: anyMethod },
};

/** HTTP methods of a subresource with the verb connect, or of a log; undefined for others. */
export function connectMethods(
  { keyPrefix }: Resource,
  subresource: string,
): readonly string[] | undefined {
  return connectSubresources[`${keyPrefix}${subresource}`]?.methods;
}

/** The backend of the request; undefined for the log of a pod without a node, which is empty. */
export async function connect(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination | undefined> {
  const { resource, subresource } = request;
  const connectSubresource = connectSubresources[`${resource.keyPrefix}${subresource}`];
  // The verb of a log is get, which has no admission.
  if (connectSubresource !== undefined && subresource !== "log") {
    const object = connectOptions(request, connectRequest);
    const attributes = { request, operation: "connect", dryRun: false, object } as const;
    const steps = [...registry.mutating, ...registry.validating];
    await runHandlers(steps, { ...attributes, old: undefined }, []);
  }
  return connectSubresource?.find(registry, request, connectRequest);
}
