import { withoutBearerProtocol } from "#authn";
import { badRequest, type Domain, requestBounds, StatusError } from "#meta";
import {
  type Body,
  checkDeleteOptions,
  checkListOptions,
  type DeleteOptions,
  type DeleteResponse,
  type PatchOptions,
  type RawDeleteOptions,
  type Registry,
  type ResourceRequest,
} from "#registry";
import { bodyFormat, type Format, patchTypeOf } from "../response/negotiation.ts";
import { forbidden } from "../response/failures.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import type { ResponseStream } from "../transport/exchange.ts";
import {
  lengthDelimited,
  lines,
  WebSocketResponseStream,
  webSocketOf,
} from "../transport/websocket.ts";
import { deleteOptionsOfBody } from "./delete-options.ts";
import { deleteOptionsOfQuery, listOptions, watchOptions, writeOptions } from "./parameters.ts";
import { bodyJson, deleteOptionsJson, parseLargeBody } from "./request-body.ts";
import { isCustom, type VerbParts, type VerbRequest } from "./verb-request.ts";
import { messagesOf, VerbResponse } from "./verb-response.ts";
import { streamEvents, watchContentType, type WatchView } from "./watches.ts";

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

class VerbRun {
  private readonly domain: Domain;
  private readonly target: ResourceRequest;
  private readonly response: VerbResponse;

  constructor(
    private readonly parts: VerbParts,
    private readonly request: VerbRequest,
  ) {
    const { route, user, exchange, notes } = request;
    this.domain = parts.catalog.domain;
    this.response = new VerbResponse(parts, request);
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
    const negotiated = this.response.negotiate("object");
    if (query.flag("export") === true) {
      throw badRequest("the export parameter, deprecated since v1.14, is no longer supported");
    }
    const resourceVersion = query.get("resourceVersion") ?? "";
    const item = await this.parts.registry.get(this.target, { resourceVersion });
    await this.response.sendItem(item, { status: 200, negotiated, warnings: [] });
  }

  private async list(): Promise<void> {
    const { query } = this.request;
    const negotiated = this.response.negotiate("list");
    const options = listOptions(query);
    const table = this.response.tableView(negotiated);
    const list = await this.parts.registry.list(this.target, options);
    return this.response.sendList(list, negotiated, table);
  }

  private async watch(): Promise<void> {
    const { exchange, query, route, initialized, watchFilter } = this.request;
    const negotiated = this.response.negotiate("watch");
    const sent = watchOptions(query);
    const table = this.response.tableView(negotiated);
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
    const headers = { "content-type": watchContentType(view.format), ...this.response.headers([]) };
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
    const [first = ""] = protocols.split(",");
    const binary = format === "protobuf";
    return new WebSocketResponseStream(exchange, upgrade, {
      protocol: first.trim(),
      binary,
      split: binary ? lengthDelimited : lines,
      greets: false,
    });
  }

  private async write(verb: "create" | "update"): Promise<void> {
    const { exchange, query } = this.request;
    const negotiated = this.response.negotiate(this.isVirtual ? "virtual" : "object");
    const format = bodyFormat(exchange.header("content-type"), isCustom(this.request));
    const maxBytes = this.isVirtual ? requestBounds.transientBytes : Number.POSITIVE_INFINITY;
    const body = await this.body(format, { maxBytes });
    const kind = verb === "create" ? "CreateOptions" : "UpdateOptions";
    const options = writeOptions(query, { kind, domain: this.domain });
    this.response.tableView(negotiated);
    const { registry } = this.parts;
    const written =
      verb === "create"
        ? await registry.create(this.target, body, options)
        : await registry.update(this.target, body, options);
    return this.response.sendWritten(written, negotiated);
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
    const { patchType, format } = patchTypeOf(
      exchange.header("content-type"),
      isCustom(this.request),
    );
    const negotiated = this.response.negotiate("object");
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
    return this.response.sendWritten(written, negotiated);
  }

  private async delete(): Promise<void> {
    const negotiated = this.response.negotiate("object");
    const options = await this.deleteOptions();
    if (options.ignoreReadError === true) await this.authorizeIgnoreReadErrors();
    const deleted = await this.parts.registry.delete(this.target, options);
    const status = isPending(deleted) && options.orphanDependents === false ? 202 : 200;
    const warnings = [...this.deletionWarnings(options), ...(deleted.warnings ?? [])];
    if ("item" in deleted) {
      return this.response.sendItem(deleted.item, { status, negotiated, warnings });
    }
    this.response.sendStatus(deleted.status, { status, negotiated, warnings });
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
    const negotiated = this.response.negotiate("object");
    const list = listOptions(query);
    // Before the body is read, as in kube-apiserver.
    checkListOptions(list, this.domain);
    const options = await this.deleteOptions();
    const table = this.response.tableView(negotiated);
    const deleted = await this.parts.registry.deleteCollection(this.target, list, options);
    return this.response.sendList(deleted, negotiated, table, this.deletionWarnings(options));
  }

  private async deleteOptions() {
    const { exchange, query } = this.request;
    const bytes = await exchange.body(this.parts.limits.bodyBytes);
    if (bytes.byteLength === 0) return this.checkedOptions(deleteOptionsOfQuery(query));
    const format = bodyFormat(exchange.header("content-type"));
    await parseLargeBody({ bytes, format });
    const raw = deleteOptionsOfBody(this.parts.catalog, bytes, format);
    this.request.notes?.sent({ json: () => deleteOptionsJson(raw) });
    return this.checkedOptions(raw);
  }

  private checkedOptions(raw: RawDeleteOptions): DeleteOptions {
    const isIgnored = !this.parts.registry.gates("AllowUnsafeMalformedObjectDeletion");
    return checkDeleteOptions(isIgnored ? { ...raw, ignoreReadError: false } : raw, this.domain);
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
}

/** Abort reason of a watch: its client disconnected, or the server shuts down. */
class WatchEnded extends Error {
  override readonly name = "WatchEnded";
}

function isPending(deleted: DeleteResponse): boolean {
  return "item" in deleted && deleted.pending;
}

/** The program of a user agent: the part before the first slash. */
function userAgentName(userAgent: string | undefined): string {
  const slash = userAgent?.indexOf("/") ?? -1;
  return slash < 0 ? (userAgent ?? "") : userAgent!.slice(0, slash);
}
