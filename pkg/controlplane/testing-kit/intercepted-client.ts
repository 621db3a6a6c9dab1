import {
  type ApiObject,
  type CallOptions,
  type Client,
  type DeleteOptions,
  type Discovery,
  type Draft,
  type GetOptions,
  type Handle,
  type ListOptions,
  type Page,
  type Patch,
  type Place,
  resourcePath,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from "#client";
import { StatusError } from "#meta";
import { resourceRequestInfo } from "#request";
import type { InterceptedRequest, RequestInterceptor, WatchFilter } from "#server";
import type { ClientIdentity } from "../options.ts";

/**
 * Passes the calls of a client in the server's process to an interceptor, like requests over HTTP.
 */
export class InterceptedClient implements Client {
  readonly onServed?: (listener: () => void) => () => void;

  constructor(
    private readonly client: Client,
    private readonly identity: ClientIdentity,
    private readonly interceptor: RequestInterceptor,
  ) {
    const { onServed } = client;
    if (onServed !== undefined) this.onServed = (listener) => client.onServed!(listener);
  }

  get domain(): Client["domain"] {
    return this.client.domain;
  }

  discover(): Promise<Discovery> {
    return this.client.discover();
  }

  getRaw(path: string, options?: CallOptions): Promise<unknown> {
    return this.client.getRaw(path, options);
  }

  get<T extends ApiObject>(resource: Handle<T>, at: Place, options?: GetOptions): Promise<T> {
    const call = () => this.client.get(resource, at, options);
    return this.intercepted({ verb: "get", resource, at, options, call });
  }

  list<T extends ApiObject>(resource: Handle<T>, options?: ListOptions): Promise<Page<T>> {
    const call = () => this.client.list(resource, options);
    return this.intercepted({ verb: "list", resource, at: placeOf(options), options, call });
  }

  /** Events after an injected 410 end with an ERROR event, as they do over HTTP. */
  async *watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const at = placeOf(options);
    const call = async (filter: WatchFilter | undefined) => filter;
    const filter = await this.intercepted({ verb: "watch", resource, at, options, call });
    const events = eventsOf(this.client.watch(resource, options));
    try {
      yield* filter === undefined ? events : filter(events);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      yield { type: "ERROR", status: error.status };
    }
  }

  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    const { subresource = "" } = options ?? {};
    const { namespace = "", name = "" } = object.metadata;
    const at = subresource === "" ? { namespace } : { namespace, name, subresource };
    const call = () => this.client.create(resource, object, options);
    return this.intercepted({ verb: "create", resource, at, options, call });
  }

  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    const { subresource = "" } = options ?? {};
    const { namespace = "", name = "" } = object.metadata;
    const at = { namespace, name, subresource };
    const call = () => this.client.update(resource, object, options);
    return this.intercepted({ verb: "update", resource, at, options, call });
  }

  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T> {
    const call = () => this.client.patch(resource, at, patch);
    return this.intercepted({ verb: "patch", resource, at, options: patch, call });
  }

  delete(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    const call = () => this.client.delete(resource, at, options);
    return this.intercepted({ verb: "delete", resource, at, options, call });
  }

  deleteCollection(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    const call = () => this.client.deleteCollection(resource, at, options);
    return this.intercepted({ verb: "deletecollection", resource, at, options, call });
  }

  private async intercepted<T>(intercepted: Call<T>): Promise<T> {
    const result: { value?: T } = {};
    const request = this.requestOf(intercepted, () =>
      "value" in result ? successCode(intercepted.verb) : undefined,
    );
    await this.interceptor.intercept(request, async (filter) => {
      result.value = await intercepted.call(filter);
    });
    return result.value as T;
  }

  private requestOf<T>(
    { verb, resource, at, options }: Call<T>,
    status: () => number | undefined,
  ): InterceptedRequest {
    const { user, userAgent, signal } = this.identity;
    const { group, version, plural } = resource;
    const { namespace = "", name = "", subresource = "" } = at;
    const path = resourcePath(resource, at);
    const names = { group, version, namespace, resource: plural, subresource, name };
    return {
      info: { ...resourceRequestInfo({ verb, ...names }), path },
      user,
      signal: options?.signal ?? signal,
      header: (header) => (header === "user-agent" ? userAgent : undefined),
      status,
    };
  }
}

interface Call<T> {
  readonly verb: string;
  readonly resource: Handle;
  readonly at: Place;
  readonly options: CallOptions | undefined;
  readonly call: (filter: WatchFilter | undefined) => Promise<T>;
}

function successCode(verb: string): number {
  return verb === "create" ? 201 : 200;
}

function placeOf({ namespace = "" }: ListOptions = {}): Place {
  return { namespace };
}

async function* eventsOf<E>(events: AsyncIterable<E>): AsyncGenerator<E> {
  yield* events;
}
