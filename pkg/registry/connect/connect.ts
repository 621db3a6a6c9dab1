import type { Resource } from "#meta";
import { runHandlers } from "../admission/handler.ts";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { askedOf } from "./asked-of.ts";
import type { ConnectRequest, Destination } from "./destination.ts";
import { execDestination, logDestination, portForwardDestination } from "./pod-streams.ts";
import { nodeProxy, podProxy, serviceProxy } from "./proxies.ts";

type Find = (
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
) => Promise<Destination | undefined>;

interface Stream {
  readonly find: Find;
  /** HTTP methods, from which the usual verbs are told. */
  readonly methods: readonly string[];
}

const anyMethod = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const upgrading = ["GET", "POST"];

const streams: Readonly<Record<string, Stream>> = {
  "/pods/log": { find: logDestination, methods: ["GET"] },
  "/pods/exec": { find: execDestination, methods: upgrading },
  "/pods/attach": { find: execDestination, methods: upgrading },
  "/pods/portforward": { find: portForwardDestination, methods: upgrading },
  "/pods/proxy": { find: podProxy, methods: anyMethod },
  "/minions/proxy": { find: nodeProxy, methods: anyMethod },
  "/services/specs/proxy": { find: serviceProxy, methods: anyMethod },
};

/** HTTP methods of a subresource that is a stream; undefined for any other. */
export function streamMethods(
  { keyPrefix }: Resource,
  subresource: string,
): readonly string[] | undefined {
  return streams[`${keyPrefix}${subresource}`]?.methods;
}

/** Undefined when there is nothing to be read, and never will be. */
export async function connect(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination | undefined> {
  const { resource, subresource } = request;
  const stream = streams[`${resource.keyPrefix}${subresource}`];
  // A log is read, not connected to.
  if (stream !== undefined && subresource !== "log") {
    const object = askedOf(request, connectRequest);
    const attributes = { request, operation: "connect", dryRun: false, object } as const;
    const steps = [...registry.mutating, ...registry.validating];
    await runHandlers(steps, { ...attributes, old: undefined }, []);
  }
  return stream?.find(registry, request, connectRequest);
}
