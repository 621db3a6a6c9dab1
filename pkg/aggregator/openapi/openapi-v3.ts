import type { Readable } from "node:stream";
import { isJsonObject } from "#base";
import type { User } from "#request";
import type { RemoteApiService } from "../api-services.ts";
import type { BackendTransport } from "../contract.ts";
import type { Downloader } from "../download/download.ts";
import { JsonSpan, JsonSpanError } from "../download/json-span.ts";
import { convertSpec } from "./convert-spec.ts";
import { DownloadSchedule, type ScheduleOptions } from "./download-schedule.ts";
import { downloadSpec, maxSpecBytes, specTimeoutMs, specUser } from "./openapi-v2.ts";

const maxRootBytes = 4 * 1024 * 1024;

/** An OpenAPI 3 document of another server. */
export interface RemoteDocument {
  readonly apiService: RemoteApiService;
  /** Content hash from the server's root document; "" if it has none. */
  readonly hash: string;
  /** The document converted from Swagger 2.0; absent if the server has OpenAPI 3 itself. */
  readonly converted?: Buffer;
}

/** OpenAPI 3 documents of one server. */
interface DocumentRoot {
  /** By path below `/openapi/v3/`. */
  readonly documents: ReadonlyMap<string, RemoteDocument>;
  /** Entity tag of the Swagger 2.0 document that was converted. */
  readonly etag?: string;
  readonly swaggerHash?: string;
}

export interface ProxiedDocument {
  readonly status: number;
  /** Headers in `proxiedHeaders`, and `location` of a redirect. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

export interface DocumentRequest {
  /** Path below `/openapi/v3/`. */
  readonly path: string;
  readonly hash: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly user: User;
  readonly signal: AbortSignal;
}

const proxiedHeaders = [
  "content-type",
  "etag",
  "vary",
  "cache-control",
  "expires",
  "last-modified",
];

/**
 * OpenAPI 3 documents of other servers: the root document of each server is downloaded, the documents
 * are proxied on request. For a server without OpenAPI 3 its Swagger 2.0 document is converted.
 */
export class OpenApiV3Roots {
  private readonly roots = new Map<string, DocumentRoot>();
  private readonly schedule: DownloadSchedule;
  private documents: ReadonlyMap<string, RemoteDocument> | undefined;

  constructor(
    private readonly options: ScheduleOptions & {
      readonly downloader: Downloader;
      readonly transport: BackendTransport;
    },
  ) {
    this.schedule = new DownloadSchedule(options, {
      name: "open_api_v3_aggregation_controller",
      download: (apiService) => this.update(apiService),
      remove: (name) => this.remove(name),
    });
  }

  /** By path, such as `apis/metrics.k8s.io/v1beta1`. */
  get current(): ReadonlyMap<string, RemoteDocument> {
    return (this.documents ??= this.merged());
  }

  /** Downloads root documents until the signal aborts. */
  run(): Promise<void> {
    return this.schedule.run();
  }

  /**
   * Proxies a document with the server's status code. The location of a redirect is rewritten to this
   * server.
   * @throws BackendError if the server does not respond
   */
  async open(document: RemoteDocument, request: DocumentRequest): Promise<ProxiedDocument> {
    const { path, hash, headers, user, signal } = request;
    const response = await this.options.transport.send(document.apiService, {
      method: "GET",
      path: documentUrl(path, hash),
      headers,
      user,
      signal,
      timeoutMs: specTimeoutMs,
    });
    const proxied: Record<string, string> = {};
    for (const name of proxiedHeaders) {
      const value = response.headers[name];
      if (value !== undefined) proxied[name] = String(value);
    }
    if (isRedirect(response.status)) {
      proxied["location"] = documentUrl(path, hashIn(String(response.headers["location"] ?? "")));
    }
    return { status: response.status, headers: proxied, body: response.body };
  }

  private async update(apiService: RemoteApiService): Promise<boolean> {
    const { name } = apiService.metadata;
    const { status, body } = await this.options.downloader.get(apiService, {
      path: "/openapi/v3",
      accept: "application/json",
      ifNoneMatch: "",
      user: specUser,
      timeoutMs: specTimeoutMs,
      maxBytes: maxRootBytes,
    });
    if (status === 404) return this.convert(apiService);
    if (status !== 200) throw new Error(`/openapi/v3: the server responded with status ${status}`);
    this.set(name, { documents: await readRoot(body, apiService) });
    return true;
  }

  private async convert(apiService: RemoteApiService): Promise<boolean> {
    const { name } = apiService.metadata;
    const before = this.roots.get(name);
    const isKnown = before?.swaggerHash !== undefined;
    const known = isKnown ? { etag: before.etag ?? "", hash: before.swaggerHash! } : undefined;
    const found = await downloadSpec(this.options.downloader, apiService, known);
    if (found.status === "absent") this.remove(name);
    else if (found.status === "new") {
      const { text, hash } = await convertSpec(found.spec);
      const document = { apiService, hash, converted: text };
      const documents = new Map([[groupVersionPath(apiService), document]]);
      this.set(name, { documents, etag: found.etag, swaggerHash: found.hash });
    }
    return found.status !== "absent";
  }

  private set(name: string, root: DocumentRoot): void {
    this.roots.set(name, root);
    this.documents = undefined;
  }

  private remove(name: string): void {
    if (this.roots.delete(name)) this.documents = undefined;
  }

  private merged(): ReadonlyMap<string, RemoteDocument> {
    const merged = new Map<string, RemoteDocument>();
    for (const name of [...this.roots.keys()].sort()) {
      for (const [path, document] of this.roots.get(name)!.documents) {
        if (!merged.has(path)) merged.set(path, document);
      }
    }
    return merged;
  }
}

/** Size limit of a proxied document, in bytes. */
export const maxProxiedBytes = maxSpecBytes;

function documentUrl(path: string, hash: string): string {
  return `/openapi/v3/${path}${hash === "" ? "" : `?hash=${encodeURIComponent(hash)}`}`;
}

function groupVersionPath({ spec: { group = "", version = "" } }: RemoteApiService): string {
  return `apis/${group}/${version}`;
}

/**
 * The entries of the group version and of its group; others are ignored. Only the hash of each
 * `serverRelativeURL` is used.
 */
async function readRoot(
  body: Buffer,
  apiService: RemoteApiService,
): Promise<ReadonlyMap<string, RemoteDocument>> {
  const root = await JsonSpan.of(body).members();
  const paths = await root.get("paths")?.members();
  if (paths === undefined) throw new JsonSpanError("no root of OpenAPI 3 documents");
  const documents = new Map<string, RemoteDocument>();
  const version = groupVersionPath(apiService);
  for (const path of [version, version.slice(0, version.lastIndexOf("/"))]) {
    const entry = paths.get(path)?.parse();
    if (!isJsonObject(entry)) continue;
    documents.set(path, { apiService, hash: hashIn(String(entry["serverRelativeURL"] ?? "")) });
  }
  return documents;
}

function hashIn(url: string): string {
  const [, query = ""] = url.split("?", 2);
  const hash = new URLSearchParams(query).get("hash") ?? "";
  return /^[\w-]{1,256}$/.test(hash) ? hash : "";
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}
