import { type Clock, heldDuring, parseJsonText, printJson } from "#base";
import {
  type Domain,
  genericFailure,
  groupVersionOf,
  resolve,
  type Status,
  StatusError,
} from "#meta";
import { parseJson } from "#schema";
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
import { jsonLines, wholeBody } from "./json-lines.ts";
import { resourcePath } from "./resource-path.ts";
import type { HttpResponse, HttpRequest, RoundTrip } from "./transport.ts";

export interface HttpClientOptions {
  readonly send: RoundTrip;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly userAgent: string;
  /** The life of the client: calls under way end with it. */
  readonly signal: AbortSignal;
  /** Longest time for a call that is no watch; default one minute. */
  readonly timeoutMs?: number;
  /**
   * Read integers beyond 2^53 as bigints, as objects of the registry have them; default false:
   * faster, and such integers lose digits.
   */
  readonly exactIntegers?: boolean;
}

const defaultTimeoutMs = 60_000;
const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** An object as it is on the wire. */
interface Named {
  readonly kind?: string;
  readonly apiVersion?: string;
}

interface WireList {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly unknown[] | null;
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

/** The API by its wire, over anything that carries requests. */
export class HttpClient implements Client {
  readonly domain: Domain;
  private readonly discovery: HttpDiscovery;
  private readonly parse: (text: string) => unknown;

  constructor(private readonly options: HttpClientOptions) {
    this.domain = options.domain;
    this.parse = options.exactIntegers ? (text) => parseJson(text).value : parseJsonText;
    this.discovery = new HttpDiscovery(options.domain, (request) =>
      this.whole({ ...request, signal: undefined }),
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
    const accept = this.accepted("PartialObjectMetadata", metadataOnly);
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
      accept: this.accepted("PartialObjectMetadataList", metadataOnly),
      signal,
    });
    const { metadata, items } = this.parse(text) as WireList;
    return {
      items: (items ?? []).map((item) => plain<T>(item)),
      resourceVersion: metadata.resourceVersion ?? "",
      continueToken: metadata.continue ?? "",
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
    const accept = this.accepted("PartialObjectMetadata", metadataOnly);
    const call = { method: "GET", path, query, accept, signal };
    const answer = await this.options.send({ ...this.outgoing(call, signal), longRunning: true });
    if (answer.status !== 200) throw await this.failure(answer, signal);
    for await (const line of jsonLines(answer.body)) yield this.eventOf(line);
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
    return this.parse(await this.text({ method: "GET", path, signal }));
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
    return plain(this.parse(await this.text(call)));
  }

  private async text(call: Call): Promise<string> {
    return (await this.whole(call)).text;
  }

  /** The whole answer, if it is one of success or says that nothing has changed. */
  private whole(call: Call): Promise<{ readonly answer: HttpResponse; readonly text: string }> {
    const { clock, timeoutMs = defaultTimeoutMs, signal: life, send } = this.options;
    const deadline = { clock, ms: timeoutMs, signal: call.signal ?? life };
    const work = async (signal: AbortSignal) => {
      const answer = await send(this.outgoing(call, signal));
      const { status } = answer;
      if ((status < 200 || status > 299) && status !== 304)
        throw await this.failure(answer, signal);
      return { answer, text: await wholeBody(answer.body) };
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

  /** What a server that knows no Status says becomes one. */
  private async failure(answer: HttpResponse, signal: AbortSignal): Promise<StatusError> {
    const text = await wholeBody(answer.body);
    signal.throwIfAborted();
    const status = statusIn(text);
    if (status !== undefined) return new StatusError(status);
    if (answer.status === 404) return genericFailure(404);
    const message = `the server answered ${answer.status}: ${text.slice(0, 1024)}`;
    const bare = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" } as const;
    return new StatusError({ ...bare, message, code: answer.status });
  }

  private accepted(form: string, metadataOnly: boolean): string {
    const group = resolve("meta.{api}", this.domain);
    // Servers that know no such form send the whole objects.
    return metadataOnly ? `application/json;as=${form};g=${group};v=v1,${plainJson}` : plainJson;
  }

  private eventOf<T extends ApiObject>(line: string): WatchEvent<T> {
    const { type, object } = this.parse(line) as {
      readonly type: string;
      readonly object: unknown;
    };
    switch (type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        return { type, object: plain<T>(object) };
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

function plain<T extends ApiObject>(value: unknown): T {
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
