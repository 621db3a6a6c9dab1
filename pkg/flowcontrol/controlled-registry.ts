import { type Clock, heldDuring, realClock } from "#base";
import { tooManyRequests } from "#meta";
import type { Registry, ResourceRequest } from "#registry";
import { Query, type RequestInfo, resourceRequestInfo } from "#request";
import type { Admission } from "./contract.ts";
import type { FlowController } from "./flow-controller.ts";

/** Queue wait limit in ms: a quarter of the default request timeout, as for requests over HTTP. */
const waitMs = 15_000;
const noQuery = Query.parse("");

/**
 * A registry for in-process clients, whose calls are subject to flow control like requests over HTTP.
 * Calls of `system:masters` are exempt, but counted. A call occupies its seats until the registry has
 * returned, a watch until it is initialized.
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
  const withSeats = async <T>(
    verb: string,
    request: ResourceRequest,
    work: () => Promise<T>,
  ): Promise<T> => {
    const admission = await admit(verb, request);
    return work().finally(() => admission.release());
  };
  return {
    ...registry,
    get: (request, options) => withSeats("get", request, () => registry.get(request, options)),
    list: (request, options) => withSeats("list", request, () => registry.list(request, options)),
    create: (request, body, options) =>
      withSeats("create", request, () => registry.create(request, body, options)),
    update: (request, body, options) =>
      withSeats("update", request, () => registry.update(request, body, options)),
    patch: (request, body, options) =>
      withSeats("patch", request, () => registry.patch(request, body, options)),
    delete: (request, options) =>
      withSeats("delete", request, () => registry.delete(request, options)),
    deleteCollection: (request, list, options) =>
      withSeats("deletecollection", request, () =>
        registry.deleteCollection(request, list, options),
      ),
    async *watch(request, options) {
      const admission = await admit("watch", request);
      const unregister = flowControl.watches.register(
        infoOf("watch", request),
        options.fieldSelector,
      );
      try {
        const initialized = () => admission.release();
        yield* registry.watch(request, { ...options, initialized });
      } finally {
        admission.release();
        unregister();
      }
    },
  };
}

function infoOf(verb: string, request: ResourceRequest): RequestInfo {
  const { resource, namespace, name, subresource } = request;
  const { group, version, plural } = resource;
  const names = { group, version, namespace, resource: plural, subresource, name };
  return resourceRequestInfo({ verb, ...names });
}
