import {
  type Clock,
  heldDuring,
  isJsonObject,
  JsonTypeFault,
  parseJsonText,
  printJson,
  TypedFields,
} from "#base";
import {
  type Domain,
  genericFailure,
  groupVersionOf,
  resolve,
  type Status,
  StatusError,
} from "#meta";
import { parseExactJson } from "#schema";
import type {
  ApiObject,
  CallOptions,
  Client,
  DeleteOptions,
  Discovery,
  Draft,
  GetOptions,
  Handle,
  ListOptions,
  Page,
  Patch,
  Place,
  Selection,
  WriteOptions,
  WatchEvent,
  WatchOptions,
} from "../contract.ts";
import { withDeadline } from "../deadline.ts";
import { HttpDiscovery } from "./http-discovery.ts";
import { jsonLines, readBody } from "./json-lines.ts";
import { resourcePath } from "./resource-path.ts";
import type { HttpResponse, HttpRequest, RoundTrip } from "./transport.ts";

export interface HttpClientOptions {
  readonly send: RoundTrip;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly userAgent: string;
  /** Lifetime of the client: aborts calls in flight. */
  readonly signal: AbortSignal;
  /** Timeout in ms of calls except watches; default one minute. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 60_000;
const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** TypeMeta of an object on the wire. */
interface Named {
  readonly kind?: string;
  readonly apiVersion?: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal: AbortSignal | undefined;
}

/** A Client over HTTP with JSON, on any transport. */
export class HttpClient implements Client {
  readonly domain: Domain;
  private readonly discovery: HttpDiscovery;

  constructor(private readonly options: HttpClientOptions) {
    this.domain = options.domain;
    this.discovery = new HttpDiscovery(options.domain, (request) =>
      this.roundTrip({ ...request, signal: undefined }),
    );
  }

  discover(): Promise<Discovery> {
    return this.discovery.read();
  }

  async get<T extends ApiObject>(
    resource: Handle<T>,
    at: Place,
    { signal, resourceVersion = "", metadataOnly = false }: GetOptions = {},
  ): Promise<T> {
    const query = queryOf({ resourceVersion });
    const accept = this.acceptHeader("PartialObjectMetadata", metadataOnly);
    return this.object({ method: "GET", path: resourcePath(resource, at), query, accept, signal });
  }

  async list<T extends ApiObject>(
    resource: Handle<T>,
    options: ListOptions = {},
  ): Promise<Page<T>> {
    const { metadataOnly = false, signal } = options;
    const text = await this.text({
      method: "GET",
      path: resourcePath(resource, { namespace: options.namespace ?? "" }),
      query: listQuery(options),
      accept: this.acceptHeader("PartialObjectMetadataList", metadataOnly),
      signal,
    });
    const list = TypedFields.of(parseExactJson(text), `${resource.kind}List`);
    if (!list.has("metadata") || list.text("kind") === "Status") {
      throw new JsonTypeFault(`the response is no ${resource.kind}List`);
    }
    const metadata = list.object("metadata");
    return {
      items: list.list("items").map((item) => withoutTypeMeta<T>(item)),
      resourceVersion: metadata.text("resourceVersion"),
      continueToken: metadata.text("continue"),
    };
  }

  async *watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const query = listQuery(options);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    if (options.sendInitialEvents === true) {
      query.set("sendInitialEvents", "true");
      query.set("resourceVersionMatch", "NotOlderThan");
    }
    const { timeoutSeconds, metadataOnly = false, signal = this.options.signal } = options;
    if (timeoutSeconds !== undefined) query.set("timeoutSeconds", String(timeoutSeconds));
    const path = resourcePath(resource, { namespace: options.namespace ?? "" });
    const accept = this.acceptHeader("PartialObjectMetadata", metadataOnly);
    const call = { method: "GET", path, query, accept, signal };
    const response = await this.options.send({ ...this.outgoing(call, signal), longRunning: true });
    if (response.status !== 200) throw await this.failure(response, signal);
    for await (const line of jsonLines(response.body)) yield this.eventOf(line);
  }

  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    { signal, subresource = "" }: WriteOptions = {},
  ): Promise<T> {
    const { namespace = "", name = "" } = object.metadata;
    const at = subresource === "" ? { namespace } : { namespace, name, subresource };
    const body = { ...typeMeta(resource), ...object };
    return this.object({ method: "POST", path: resourcePath(resource, at), body, signal });
  }

  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    { signal, subresource = "" }: WriteOptions = {},
  ): Promise<T> {
    const { namespace = "", name = "" } = object.metadata;
    const path = resourcePath(resource, { namespace, name, subresource });
    const body = { ...typeMeta(resource), ...object };
    return this.object({ method: "PUT", path, body, signal });
  }

  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T> {
    const { type, body, signal } = patch;
    const { fieldManager = "", force = false } = type === "apply" ? patch : {};
    const query = queryOf({ fieldManager, force: force ? "true" : "" });
    const call = { method: "PATCH", path: resourcePath(resource, at), query, body, signal };
    return this.object({ ...call, contentType: patchTypes[type] });
  }

  async getRaw(path: string, { signal }: CallOptions = {}): Promise<unknown> {
    return parseExactJson(await this.text({ method: "GET", path, signal }));
  }

  async delete(resource: Handle, at: Place, options: DeleteOptions = {}): Promise<void> {
    const { signal, ...asked } = options;
    const body = { kind: "DeleteOptions", apiVersion: "v1", ...asked };
    await this.text({ method: "DELETE", path: resourcePath(resource, at), body, signal });
  }

  deleteCollection(resource: Handle, at: Place, options: DeleteOptions = {}): Promise<void> {
    return this.delete(resource, at, options);
  }

  private async object<T extends ApiObject>(call: Call): Promise<T> {
    return withoutTypeMeta(parseExactJson(await this.text(call)));
  }

  private async text(call: Call): Promise<string> {
    return (await this.roundTrip(call)).text;
  }

  /** Sends a call and reads the body. @throws StatusError unless the status is 2xx or 304 */
  private roundTrip(
    call: Call,
  ): Promise<{ readonly response: HttpResponse; readonly text: string }> {
    const { clock, timeoutMs = defaultTimeoutMs, signal: life, send } = this.options;
    const deadline = { clock, ms: timeoutMs, signal: call.signal ?? life };
    const work = async (signal: AbortSignal) => {
      const response = await send(this.outgoing(call, signal));
      const { status } = response;
      if ((status < 200 || status > 299) && status !== 304)
        throw await this.failure(response, signal);
      return { response, text: await readBody(response.body) };
    };
    return heldDuring(clock, "requests over HTTP", () => withDeadline(deadline, work));
  }

  private outgoing(call: Call, signal: AbortSignal): HttpRequest {
    const {
      method,
      path,
      query,
      body,
      contentType = "application/json",
      accept = plainJson,
    } = call;
    const search = query === undefined || query.size === 0 ? "" : `?${query}`;
    const headers = { accept, "user-agent": this.options.userAgent };
    const bare = { method, path: `${path}${search}`, signal };
    if (body === undefined) return { ...bare, headers };
    const bytes = Buffer.from(printJson(body));
    return { ...bare, headers: { ...headers, "content-type": contentType }, body: bytes };
  }

  /** The error of a failed response; a body that is not a Status becomes its message. */
  private async failure(response: HttpResponse, signal: AbortSignal): Promise<StatusError> {
    const text = await readBody(response.body);
    signal.throwIfAborted();
    const status = statusIn(text);
    if (status !== undefined) return new StatusError(status);
    if (response.status === 404) return genericFailure(404);
    const message = `the server responded with status ${response.status}: ${text.slice(0, 1024)}`;
    const bare = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" } as const;
    return new StatusError({ ...bare, message, code: response.status });
  }

  private acceptHeader(form: string, metadataOnly: boolean): string {
    const group = resolve("meta.{api}", this.domain);
    // Servers without metadata-only representations send complete objects.
    return metadataOnly ? `application/json;as=${form};g=${group};v=v1,${plainJson}` : plainJson;
  }

  private eventOf<T extends ApiObject>(line: string): WatchEvent<T> {
    const { type, object } = parseExactJson(line) as {
      readonly type: string;
      readonly object: unknown;
    };
    switch (type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        return { type, object: withoutTypeMeta<T>(object) };
      case "BOOKMARK": {
        const { resourceVersion, annotations } = (object as ApiObject).metadata;
        const end = resolve("{api}/initial-events-end", this.domain);
        return { type, resourceVersion, initialEventsEnd: annotations?.[end] === "true" };
      }
      default:
        return { type: "ERROR", status: object as Status };
    }
  }
}

const plainJson = "application/json";

function statusIn(text: string): Status | undefined {
  try {
    const value = parseJsonText(text) as Partial<Status> | null;
    return value?.kind === "Status" ? (value as Status) : undefined;
  } catch {
    return undefined;
  }
}

function withoutTypeMeta<T extends ApiObject>(value: unknown): T {
  if (!isJsonObject(value)) throw new JsonTypeFault("the response is no object");
  const { kind: _kind, apiVersion: _version, ...object } = value as Named & T;
  return object as unknown as T;
}

function typeMeta({ group, version, kind }: Handle): Named {
  return { apiVersion: groupVersionOf(group, version), kind };
}

function listQuery(options: ListOptions & Selection): URLSearchParams {
  const { labelSelector, fieldSelector, resourceVersion, resourceVersionMatch } = options;
  const { limit = 0, continueToken } = options;
  return queryOf({
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    limit: limit > 0 ? String(limit) : "",
    continue: continueToken,
  });
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  return query;
}
