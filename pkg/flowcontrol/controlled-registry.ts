import { type Clock, heldDuring, realClock } from "#base";
import { tooManyRequests } from "#meta";
import type { Registry, ResourceRequest } from "#registry";
import { Query, type RequestInfo } from "#request";
import type { Admission } from "./contract.ts";
import type { FlowController } from "./flow-controller.ts";

/** Wait in ms for seats, as for a request of a minute over HTTP. */
const waitMs = 15_000;
const noQuery = Query.parse("");

/**
 * A registry for clients in the process of the server, whose calls take seats as requests over HTTP
 * do. Controllers act as members of `system:masters`: they are exempt, and are counted at once. A
 * call occupies its seats until the registry has answered, a watch until it is initialized.
 */
export function controlledRegistry(
  registry: Registry,
  flowControl: FlowController,
  clock: Clock,
): Registry {
  const admit = async (verb: string, request: ResourceRequest): Promise<Admission> => {
    const info = infoOf(verb, request);
    const { user, context, resource } = request;
    const classified = flowControl.classify({ user, info, query: noQuery, resource });
    const { signal } = context;
    const deadline = realClock(clock).monotonic() + waitMs;
    const start = async () => classified.start({ signal, deadline });
    const result = await heldDuring(clock, "waits for seats of flow control", start);
    if (result.admitted) return result;
    signal.throwIfAborted();
    throw tooManyRequests("Too many requests, please try again later.", result.retryAfter);
  };
  const seated = async <T>(
    verb: string,
    request: ResourceRequest,
    work: () => Promise<T>,
  ): Promise<T> => {
    const admission = await admit(verb, request);
    return work().finally(() => admission.release());
  };
  return {
    ...registry,
    get: (request, options) => seated("get", request, () => registry.get(request, options)),
    list: (request, options) => seated("list", request, () => registry.list(request, options)),
    create: (request, body, options) =>
      seated("create", request, () => registry.create(request, body, options)),
    update: (request, body, options) =>
      seated("update", request, () => registry.update(request, body, options)),
    patch: (request, body, options) =>
      seated("patch", request, () => registry.patch(request, body, options)),
    delete: (request, options) =>
      seated("delete", request, () => registry.delete(request, options)),
    deleteCollection: (request, list, options) =>
      seated("deletecollection", request, () => registry.deleteCollection(request, list, options)),
    async *watch(request, options) {
      const admission = await admit("watch", request);
      const forget = flowControl.watches.register(infoOf("watch", request), options.fieldSelector);
      try {
        const initialized = () => admission.release();
        yield* registry.watch(request, { ...options, initialized });
      } finally {
        admission.release();
        forget();
      }
    },
  };
}

function infoOf(verb: string, request: ResourceRequest): RequestInfo {
  const { resource, namespace, name, subresource } = request;
  const { group, version, plural } = resource;
  return {
    isResource: true,
    path: "",
    verb,
    apiPrefix: group === "" ? "api" : "apis",
    group,
    version,
    namespace,
    resource: plural,
    subresource,
    name,
    rest: [],
  };
}
