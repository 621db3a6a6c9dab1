import { withoutBearerProtocol } from "#authn";
import {
  badRequest,
  type Catalog,
  type Domain,
  metaGroupOf,
  printYaml,
  requestBounds,
  StatusError,
} from "#meta";
import {
  type Body,
  checkDeleteOptions,
  checkListOptions,
  type DeleteResponse,
  type DeleteOptions,
  type Item,
  type ItemList,
  type PatchOptions,
  type Registry,
  type ResourceRequest,
  type WriteResponse,
} from "#registry";
import { type Awaitable, type Clock, CacheBudget, memoize, parseJsonText } from "#base";
import type { Authorizer, Query, RequestInfo, RequestNotes, User } from "#request";
import {
  sendResponse,
  type ResponseOptions,
  sendPieces,
  ResponseWriter,
  gzipAbove,
  warningHeaders,
} from "../response/response-writer.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import type { WatchFilter } from "../interceptor.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import { deleteOptionsOfBody } from "./delete-options.ts";
import {
  itemPieces,
  partialPieces,
  partialTypeMeta,
  type Pieces,
  metadataAlone,
  statusBody,
} from "../response/encode.ts";
import type { Exchange, ResponseStream } from "../transport/exchange.ts";
import { forbidden } from "../response/failures.ts";
import { Indenter } from "../response/indent.ts";
import type { Limits } from "../limits.ts";
import { noListRequested, writeList } from "./lists.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";
import {
  bodyFormat,
  type Format,
  includeObject,
  mediaTypes,
  type Negotiated,
  Negotiator,
  type Offer,
  patchTypeOf,
  wantsPretty,
} from "../response/negotiation.ts";
import { deleteOptionsOfQuery, listOptions, watchOptions, writeOptions } from "./parameters.ts";
import type { Route } from "../routes/resource-route.ts";
import { bodyJson, deleteOptionsJson, parseLargeBody } from "./request-body.ts";
import { joinChunks, rowJson, tableHead, tableTail, type TableView } from "../response/table.ts";
import { streamEvents, watchContentType, type WatchView } from "./watches.ts";
import { WebSocketResponseStream, webSocketOf } from "../transport/websocket.ts";

/** Dependencies of the verb handlers. */
export interface VerbParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
  /** Ends watches when the server shuts down. */
  readonly closing: Shutdown;
}

export interface VerbRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: User;
  readonly route: Route;
  /** Absent when the request is not audited. */
  readonly notes?: RequestNotes | undefined;
  /** Called when a watch is initialized. */
  readonly initialized?: (() => void) | undefined;
  /** Filters the events of a watch; absent = all are sent. */
  readonly watchFilter?: WatchFilter | undefined;
}

/** Runs a verb of the registry and writes its response. */
export function runVerb(parts: VerbParts, request: VerbRequest): Promise<void> {
  const { deprecationWarning } = request.route.resource.served;
  const work = new VerbRun(parts, request).run();
  if (deprecationWarning === undefined) return work;
  return work.catch((error: unknown) => {
    if (!(error instanceof StatusError)) throw error;
    const { status, headers, warnings } = error;
    throw new StatusError(status, headers, [deprecationWarning, ...warnings]);
  });
}

type WatchEvents = ReturnType<Registry["watchBatches"]>;

interface SendOptions {
  readonly status: number;
  readonly negotiated: Negotiated;
  readonly warnings: readonly string[];
}

class VerbRun {
  private readonly domain: Domain;
  private readonly metaGroup: string;
  private readonly target: ResourceRequest;

  constructor(
    private readonly parts: VerbParts,
    private readonly request: VerbRequest,
  ) {
    const { route, user, exchange, notes } = request;
    this.domain = parts.catalog.domain;
    this.metaGroup = metaGroupOf(this.domain);
    this.target = {
      resource: route.resource,
      namespace: route.namespace,
      name: route.name,
      subresource: route.subresource,
      user,
      notes,
      context: exchange,
      userAgent: userAgentName(exchange.header("user-agent")),
    };
  }

  run(): Promise<void> {
    const { route } = this.request;
    switch (route.verb) {
      case "get":
        return this.get();
      case "list":
        return this.list();
      case "watch":
        return this.watch();
      case "create":
      case "update":
        return this.write(route.verb);
      case "patch":
        return this.patch();
      case "delete":
        return this.delete();
      case "deletecollection":
        return this.deleteCollection();
    }
  }

  private async get(): Promise<void> {
    const { query } = this.request;
    const negotiated = this.negotiate("object");
    if (query.flag("export") === true) {
      throw badRequest("the export parameter, deprecated since v1.14, is no longer supported");
    }
    const resourceVersion = query.get("resourceVersion") ?? "";
    const item = await this.parts.registry.get(this.target, { resourceVersion });
    await this.sendItem(item, { status: 200, negotiated, warnings: [] });
  }

  private async list(): Promise<void> {
    const { query } = this.request;
    const negotiated = this.negotiate("list");
    const options = listOptions(query);
    const table = this.tableView(negotiated);
    return this.sendList(await this.parts.registry.list(this.target, options), negotiated, table);
  }

  private async watch(): Promise<void> {
    const { exchange, query, route, initialized, watchFilter } = this.request;
    const negotiated = this.negotiate("watch");
    const sent = watchOptions(query);
    const table = this.tableView(negotiated);
    const named = route.deprecatedWatch && route.name !== "";
    const nameTerm = `metadata.name=${route.name.replace(/[\\,=]/g, "\\$&")}`;
    const fieldSelector = named
      ? [sent.fieldSelector, nameTerm].filter(Boolean).join(",")
      : sent.fieldSelector;
    const watching = new AbortController();
    const end = () => watching.abort(new WatchEnded());
    exchange.signal.addEventListener("abort", end, { once: true });
    const unregister = this.parts.closing.add(end);
    if (exchange.signal.aborted) end();
    try {
      const target: ResourceRequest = { ...this.target, name: "", context: watching };
      const options = { ...sent, fieldSelector, initialized };
      const batches = this.parts.registry.watchBatches(target, options);
      const events = watchFilter === undefined ? batches : watchFilter(batches);
      const view = {
        ...negotiated,
        resource: route.resource,
        table,
        metaGroup: this.metaGroup,
        messages: messagesOf(this.parts.limits),
        initialEventsEnd: `${this.domain.api}/initial-events-end`,
      };
      await this.sendEvents(events, { view, ended: watching.signal });
    } finally {
      unregister();
      exchange.signal.removeEventListener("abort", end);
      end();
    }
  }

  private async sendEvents(
    events: WatchEvents,
    { view, ended }: { readonly view: WatchView; readonly ended: AbortSignal },
  ): Promise<void> {
    const response = this.eventStream(view.format);
    const headers = { "content-type": watchContentType(view.format), ...this.headers([]) };
    const start = () => {
      if (response.started) return;
      response.start(200, headers);
      response.flush();
    };
    const patience = this.parts.limits.watchStallTimeout;
    const { watches } = this.parts.metrics;
    const count = watches.events(view.resource);
    const delivered = watches.delivery(view.resource);
    const late = () => watches.terminated(view.resource);
    const memory = responseBufferPoolOf(this.parts.limits);
    const counters = { count, delivered, late };
    await streamEvents(response, events, { view, ended, start, patience, memory, ...counters });
    start();
    response.end();
  }

  /** The response stream, or a WebSocket if the client requests that upgrade. */
  private eventStream(format: Format): ResponseStream {
    const { exchange } = this.request;
    const upgrade = webSocketOf(exchange);
    if (upgrade === undefined) return exchange.response;
    const offered = exchange.header("sec-websocket-protocol") ?? "";
    const protocols = withoutBearerProtocol(offered, this.domain);
    return new WebSocketResponseStream(exchange, upgrade, { format, protocols });
  }

  private async write(verb: "create" | "update"): Promise<void> {
    const { exchange, query } = this.request;
    const negotiated = this.negotiate(this.isVirtual ? "virtual" : "object");
    const format = bodyFormat(exchange.header("content-type"), this.isCustom);
    const maxBytes = this.isVirtual ? requestBounds.transientBytes : Number.POSITIVE_INFINITY;
    const body = await this.body(format, { maxBytes });
    const kind = verb === "create" ? "CreateOptions" : "UpdateOptions";
    const options = writeOptions(query, { kind, domain: this.domain });
    this.tableView(negotiated);
    const { registry } = this.parts;
    const written =
      verb === "create"
        ? await registry.create(this.target, body, options)
        : await registry.update(this.target, body, options);
    return this.sendWritten(written, negotiated);
  }

  /** Reviews, tokens, evictions and bindings: a resource with the verb create only is not stored. */
  private get isVirtual(): boolean {
    const { resource, subresource } = this.request.route;
    const below = resource.kind.subresources.find(({ name }) => name === subresource);
    const verbs: readonly string[] = below?.verbs ?? resource.kind.verbs;
    return verbs.length === 1 && verbs[0] === "create";
  }

  private async patch(): Promise<void> {
    const { exchange, query } = this.request;
    const { patchType, format } = patchTypeOf(exchange.header("content-type"), this.isCustom);
    const negotiated = this.negotiate("object");
    const body = await this.body(format, { patchType });
    this.request.notes?.sent({ json: () => bodyJson(body) });
    const options: PatchOptions = {
      ...writeOptions(query, {
        kind: "PatchOptions",
        domain: this.domain,
        apply: patchType === "apply",
      }),
      patchType,
      force: query.flag("force"),
    };
    const written = await this.parts.registry.patch(this.target, body, options);
    return this.sendWritten(written, negotiated);
  }

  private async delete(): Promise<void> {
    const negotiated = this.negotiate("object");
    const options = await this.deleteOptions();
    if (options.ignoreReadError === true) await this.authorizeIgnoreReadErrors();
    const deleted = await this.parts.registry.delete(this.target, options);
    const status = isPending(deleted) && options.orphanDependents === false ? 202 : 200;
    const warnings = [...this.deletionWarnings(options), ...(deleted.warnings ?? [])];
    if ("item" in deleted) {
      return this.sendItem(deleted.item, { status, negotiated, warnings });
    }
    this.request.notes?.responseStatus(deleted.status);
    const pretty = this.pretty(negotiated);
    const headers = { "content-type": mediaTypes[negotiated.format], ...this.headers(warnings) };
    const body = statusBody(deleted.status, { ...negotiated, pretty });
    sendResponse(this.request.exchange, { status, headers }, body);
  }

  /** Throws 403 without permission for `unsafe-delete-ignore-read-errors` (KEP-3926). */
  private async authorizeIgnoreReadErrors(): Promise<void> {
    const { user, info } = this.request;
    const attributes = { user, request: { ...info, verb: "unsafe-delete-ignore-read-errors" } };
    const { verdict, reason } = await this.parts.authorizer.authorize(attributes);
    if (verdict !== "allow") throw forbidden(attributes, reason);
  }

  private deletionWarnings({ propagationPolicy, orphanDependents }: DeleteOptions): string[] {
    const { deletionWarning } = this.request.route.resource.kind.rules;
    const isExplicit = propagationPolicy !== undefined || orphanDependents !== undefined;
    return isExplicit || deletionWarning === undefined ? [] : [deletionWarning];
  }

  private async deleteCollection(): Promise<void> {
    const { query } = this.request;
    const negotiated = this.negotiate("object");
    const list = listOptions(query);
    // Before the body is read, as in kube-apiserver.
    checkListOptions(list, this.domain);
    const options = await this.deleteOptions();
    const table = this.tableView(negotiated);
    const deleted = await this.parts.registry.deleteCollection(this.target, list, options);
    return this.sendList(deleted, negotiated, table, this.deletionWarnings(options));
  }

  private async deleteOptions() {
    const { exchange, query } = this.request;
    const bytes = await exchange.body(this.parts.limits.bodyBytes);
    if (bytes.byteLength === 0) return checkDeleteOptions(deleteOptionsOfQuery(query), this.domain);
    const format = bodyFormat(exchange.header("content-type"));
    await parseLargeBody({ bytes, format });
    const raw = deleteOptionsOfBody(bytes, format);
    this.request.notes?.sent({ json: () => deleteOptionsJson(raw) });
    return checkDeleteOptions(raw, this.domain);
  }

  private async body(
    format: Body["format"],
    {
      maxBytes = Number.POSITIVE_INFINITY,
      patchType,
    }: { readonly maxBytes?: number; readonly patchType?: PatchOptions["patchType"] },
  ): Promise<Body> {
    const limit = Math.min(this.parts.limits.bodyBytes, maxBytes);
    const body = { bytes: await this.request.exchange.body(limit), format };
    const parsing = parseLargeBody(body, patchType);
    if (parsing !== undefined) await parsing;
    return body;
  }

  private negotiate(offer: Offer): Negotiated {
    const negotiator = negotiatorOf(this.parts.catalog);
    // The scale of a custom resource is a built-in kind.
    const custom = this.isCustom && this.target.subresource !== "scale";
    return negotiator.negotiate(this.request.exchange.header("accept"), offer, custom);
  }

  private get isCustom(): boolean {
    return this.target.resource.kind.custom !== undefined;
  }

  private pretty(negotiated: Negotiated): boolean {
    const { query, exchange } = this.request;
    return (
      negotiated.format === "json" &&
      (negotiated.pretty || wantsPretty(query.get("pretty"), exchange.header("user-agent")))
    );
  }

  private tableView({ as }: Negotiated): TableView | undefined {
    if (as?.kind !== "Table") return undefined;
    const include = includeObject(this.request.query.get("includeObject"));
    return { as, include, metaGroup: this.metaGroup, now: this.parts.clock.now() };
  }

  private headers(warnings: readonly string[]): Record<string, string | readonly string[]> {
    const { deprecationWarning } = this.request.route.resource.served;
    const all = deprecationWarning === undefined ? warnings : [deprecationWarning, ...warnings];
    return all.length === 0 ? {} : { warning: warningHeaders(all) };
  }

  private sendWritten(written: WriteResponse, negotiated: Negotiated): Awaitable<void> {
    const { created, warnings } = written;
    return this.sendItem(written.item, { status: created ? 201 : 200, negotiated, warnings });
  }

  private sendItem(item: Item, options: SendOptions): Awaitable<void> {
    const pieces = this.oneObject(item, options.negotiated);
    return pieces instanceof Promise
      ? pieces.then((found) => this.sendObject(found, options))
      : this.sendObject(pieces, options);
  }

  private sendObject(
    pieces: Pieces,
    { negotiated, status, warnings }: SendOptions,
  ): Awaitable<void> {
    const { exchange } = this.request;
    const body = this.pretty(negotiated) ? [new Indenter().feed(joinChunks(pieces))] : pieces;
    const withEnd = negotiated.format === "json" ? [...body, "\n"] : body;
    const options = this.responseOptions(negotiated, status, warnings);
    return sendPieces(exchange.response, options, withEnd);
  }

  private responseOptions(
    { format }: Negotiated,
    status: number,
    warnings: readonly string[],
  ): ResponseOptions {
    const { limits } = this.parts;
    return {
      status,
      headers: { "content-type": mediaTypes[format], ...this.headers(warnings) },
      gzipAbove: gzipAbove(this.request.exchange, limits.gzipThreshold),
      memory: responseBufferPoolOf(limits),
    };
  }

  private oneObject(item: Item, negotiated: Negotiated): Awaitable<Pieces> {
    const { as, format } = negotiated;
    if (as === undefined || isStatus(item)) return itemPieces(item, format);
    if (as.kind === "PartialObjectMetadataList") throw noListRequested(item.resource);
    const table = this.tableView(negotiated);
    if (table === undefined) {
      const typeMeta = partialTypeMeta(as, this.metaGroup);
      return partialPieces(metadataAlone(item), typeMeta, format);
    }
    const { resourceVersion } = item.object.metadata;
    const metadata = resourceVersion ? { resourceVersion } : {};
    const head = tableHead(item.resource, table, { metadata, columns: true });
    return yamlIfRequested(`${head}${rowJson(item, table)}${tableTail}`, format);
  }

  private async sendList(
    list: ItemList,
    negotiated: Negotiated,
    table: TableView | undefined,
    warnings: readonly string[] = [],
  ): Promise<void> {
    const { exchange, route } = this.request;
    const options = this.responseOptions(negotiated, 200, warnings);
    const writer = new ResponseWriter(exchange.response, options);
    const pretty = this.pretty(negotiated);
    const { resource } = route;
    const { metaGroup } = this;
    const [messages, listChunks] = [
      messagesOf(this.parts.limits),
      listChunkCacheOf(this.parts.limits),
    ];
    const view = { resource, table, metaGroup, messages, listChunks, ...negotiated, pretty };
    try {
      await writeList(writer, list, view);
    } finally {
      writer.abandon();
    }
  }
}

/** Evictions and bindings respond with a Status, which is never converted to a Table. */
function isStatus({ resource }: Item): boolean {
  return resource.groupVersion === "v1" && resource.kind.kind === "Status";
}

const negotiatorOf = memoize(({ domain }: Catalog) => new Negotiator(metaGroupOf(domain)));

/** Budgets of a server's cached encodings. */
const messagesOf = memoize(({ encodingCacheBytes }: Limits) => new CacheBudget(encodingCacheBytes));
const listChunkCacheOf = memoize(
  ({ listChunkCacheBytes }: Limits) => new CacheBudget(listChunkCacheBytes),
);

/** Abort reason of a watch: its client disconnected, or the server shuts down. */
class WatchEnded extends Error {
  override readonly name = "WatchEnded";
}

function isPending(deleted: DeleteResponse): boolean {
  return "item" in deleted && deleted.pending;
}

function yamlIfRequested(json: string, format: Negotiated["format"]): readonly string[] {
  return [format === "yaml" ? printYaml(parseJsonText(json)) : json];
}

/** The program of a user agent: the part before the first slash. */
function userAgentName(userAgent: string | undefined): string {
  const slash = userAgent?.indexOf("/") ?? -1;
  return slash < 0 ? (userAgent ?? "") : userAgent!.slice(0, slash);
}
