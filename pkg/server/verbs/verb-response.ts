import { type Awaitable, CacheBudget, chainAwaitable, memoize } from "#base";
import { type Catalog, metaGroupOf, printYaml, type Status } from "#meta";
import { parseExactJson } from "#schema";
import type { Item, ItemList, WriteResponse } from "#registry";
import type { Limits } from "../limits.ts";
import {
  itemPieces,
  metadataAlone,
  partialPieces,
  partialTypeMeta,
  type Pieces,
  statusBody,
} from "../response/encode.ts";
import { indented } from "../response/indent.ts";
import {
  includeObject,
  mediaTypes,
  type Negotiated,
  Negotiator,
  type Offer,
  wantsPretty,
} from "../response/negotiation.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import {
  gzipAbove,
  type ResponseOptions,
  ResponseWriter,
  sendPieces,
  sendResponse,
  warningHeaders,
} from "../response/response-writer.ts";
import { joinChunks, rowJson, tableHead, tableTail, type TableView } from "../response/table.ts";
import { noListRequested, writeList } from "./lists.ts";
import { isCustom, type VerbParts, type VerbRequest } from "./verb-request.ts";

export interface SendOptions {
  readonly status: number;
  readonly negotiated: Negotiated;
  readonly warnings: readonly string[];
}

/** Writes objects, lists and Statuses in the form that the client has negotiated. */
export class VerbResponse {
  constructor(
    private readonly parts: VerbParts,
    private readonly request: VerbRequest,
  ) {}

  /** Chooses the media type of the response by the header Accept; throws 406. */
  negotiate(offer: Offer): Negotiated {
    const negotiator = negotiatorOf(this.parts.catalog);
    // The scale of a custom resource is a built-in kind.
    const custom = isCustom(this.request) && this.request.route.subresource !== "scale";
    return negotiator.negotiate(this.request.exchange.header("accept"), offer, custom);
  }

  /** How to print objects as a Table; undefined if the client asks for none. */
  tableView({ as }: Negotiated): TableView | undefined {
    if (as?.kind !== "Table") return undefined;
    const include = includeObject(this.request.query.get("includeObject"));
    return { as, include, now: this.parts.clock.now() };
  }

  /** Headers with the warnings and that of a deprecated version. */
  headers(warnings: readonly string[]): Record<string, string | readonly string[]> {
    const { deprecationWarning } = this.request.route.resource.served;
    const all = deprecationWarning === undefined ? warnings : [deprecationWarning, ...warnings];
    return all.length === 0 ? {} : { warning: warningHeaders(all) };
  }

  sendWritten(written: WriteResponse, negotiated: Negotiated): Awaitable<void> {
    const { created, warnings } = written;
    return this.sendItem(written.item, { status: created ? 201 : 200, negotiated, warnings });
  }

  sendItem(item: Item, options: SendOptions): Awaitable<void> {
    const pieces = this.oneObject(item, options.negotiated);
    return chainAwaitable(pieces, (found) => this.sendObject(found, options));
  }

  sendStatus(answer: Status, { status, negotiated, warnings }: SendOptions): void {
    const { exchange, notes } = this.request;
    notes?.responseStatus(answer);
    const pretty = this.isPretty(negotiated);
    const headers = { "content-type": mediaTypes[negotiated.format], ...this.headers(warnings) };
    sendResponse(exchange, { status, headers }, statusBody(answer, { ...negotiated, pretty }));
  }

  async sendList(
    list: ItemList,
    negotiated: Negotiated,
    table: TableView | undefined,
    warnings: readonly string[] = [],
  ): Promise<void> {
    const { exchange, route } = this.request;
    const options = this.responseOptions(negotiated, 200, warnings);
    const writer = new ResponseWriter(exchange.response, options);
    const pretty = this.isPretty(negotiated);
    const { resource } = route;
    const messages = messagesOf(this.parts.limits);
    const listChunks = listChunkCacheOf(this.parts.limits);
    const view = { resource, table, messages, listChunks, ...negotiated, pretty };
    try {
      await writeList(writer, list, view);
    } finally {
      writer.abandon();
    }
  }

  private isPretty(negotiated: Negotiated): boolean {
    const { query, exchange } = this.request;
    return (
      negotiated.format === "json" &&
      (negotiated.pretty || wantsPretty(query.get("pretty"), exchange.header("user-agent")))
    );
  }

  private sendObject(
    pieces: Pieces,
    { negotiated, status, warnings }: SendOptions,
  ): Awaitable<void> {
    const options = this.responseOptions(negotiated, status, warnings);
    const shown = this.isPretty(negotiated) ? indented(joinChunks(pieces)) : pieces;
    return chainAwaitable(shown, (body) => {
      const withEnd = negotiated.format === "json" ? [...body, "\n"] : body;
      return sendPieces(this.request.exchange.response, options, withEnd);
    });
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
      const typeMeta = partialTypeMeta(as);
      return partialPieces(metadataAlone(item), typeMeta, format);
    }
    const { resourceVersion } = item.object.metadata;
    const metadata = resourceVersion ? { resourceVersion } : {};
    const head = tableHead(item.resource, table, { metadata, columns: true });
    return yamlIfRequested(`${head}${rowJson(item, table)}${tableTail}`, format);
  }
}

/** Evictions and bindings respond with a Status, which is never converted to a Table. */
function isStatus({ resource }: Item): boolean {
  return resource.groupVersion === "v1" && resource.kind.kind === "Status";
}

const negotiatorOf = memoize(({ domain }: Catalog) => new Negotiator(metaGroupOf(domain)));

/** Budgets of a server's cached encodings. */
export const messagesOf = memoize(
  ({ encodingCacheBytes }: Limits) => new CacheBudget(encodingCacheBytes),
);
const listChunkCacheOf = memoize(
  ({ listChunkCacheBytes }: Limits) => new CacheBudget(listChunkCacheBytes),
);

function yamlIfRequested(json: string, format: Negotiated["format"]): readonly string[] {
  return [format === "yaml" ? printYaml(parseExactJson(json)) : json];
}
