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
  /** Hash of its content, "" if the server tells none. */
  readonly hash: string;
  /** The document itself where it was made from Swagger 2.0; absent = the server has it. */
  readonly converted?: Buffer;
}

/** What a server has below `/openapi/v3`. */
interface KnownRoot {
  readonly documents: ReadonlyMap<string, RemoteDocument>;
  /** Entity tag of the Swagger 2.0 document that the documents are made from. */
  readonly etag?: string;
  readonly swaggerHash?: string;
}

export interface PassedDocument {
  readonly status: number;
  /** Those that clients need: type, entity tag, caching. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

export interface DocumentQuestion {
  /** Below `/openapi/v3/`. */
  readonly address: string;
  readonly hash: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly user: User;
  readonly signal: AbortSignal;
}

const passedHeaders = ["content-type", "etag", "vary", "cache-control", "expires", "last-modified"];

/**
 * OpenAPI 3 documents of other servers: the root of each server is known, documents are passed
 * through when clients ask for them. A server without OpenAPI 3 has its Swagger 2.0 converted.
 */
export class OpenApiV3Roots {
  private readonly known = new Map<string, KnownRoot>();
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
      update: (apiService) => this.update(apiService),
      remove: (name) => this.remove(name),
    });
  }

  /** By address, such as `apis/metrics.k8s.io/v1beta1`. */
  get current(): ReadonlyMap<string, RemoteDocument> {
    return (this.documents ??= this.merged());
  }

  /** Until the signal aborts. */
  run(): Promise<void> {
    return this.schedule.run();
  }

  /**
   * Passes a document through, up to a size. The server answers for itself; a redirect is answered
   * with an address of this server.
   * @throws BackendError if it does not answer
   */
  async open(document: RemoteDocument, question: DocumentQuestion): Promise<PassedDocument> {
    const { address, hash, headers, user, signal } = question;
    const response = await this.options.transport.send(document.apiService, {
      method: "GET",
      path: addressOf(address, hash),
      headers,
      user,
      signal,
      timeoutMs: specTimeoutMs,
    });
    const passed: Record<string, string> = {};
    for (const name of passedHeaders) {
      const value = response.headers[name];
      if (value !== undefined) passed[name] = String(value);
    }
    if (isRedirect(response.status)) {
      passed["location"] = addressOf(address, hashIn(String(response.headers["location"] ?? "")));
    }
    return { status: response.status, headers: passed, body: response.body };
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
    if (status !== 200) throw new Error(`/openapi/v3: the server answered ${status}`);
    this.set(name, { documents: await readRoot(body, apiService) });
    return true;
  }

  private async convert(apiService: RemoteApiService): Promise<boolean> {
    const { name } = apiService.metadata;
    const before = this.known.get(name);
    const isKnown = before?.swaggerHash !== undefined;
    const known = isKnown ? { etag: before.etag ?? "", hash: before.swaggerHash! } : undefined;
    const found = await downloadSpec(this.options.downloader, apiService, known);
    if (found.status === "absent") this.remove(name);
    else if (found.status === "new") {
      const { text, hash } = await convertSpec(found.spec);
      const document = { apiService, hash, converted: text };
      const documents = new Map([[versionAddress(apiService), document]]);
      this.set(name, { documents, etag: found.etag, swaggerHash: found.hash });
    }
    return found.status !== "absent";
  }

  private set(name: string, root: KnownRoot): void {
    this.known.set(name, root);
    this.documents = undefined;
  }

  private remove(name: string): void {
    if (this.known.delete(name)) this.documents = undefined;
  }

  private merged(): ReadonlyMap<string, RemoteDocument> {
    const merged = new Map<string, RemoteDocument>();
    for (const name of [...this.known.keys()].sort()) {
      for (const [address, document] of this.known.get(name)!.documents) {
        if (!merged.has(address)) merged.set(address, document);
      }
    }
    return merged;
  }
}

/** The size up to which documents are passed through. */
export const maxPassedBytes = maxSpecBytes;

export function addressOf(address: string, hash: string): string {
  return `/openapi/v3/${address}${hash === "" ? "" : `?hash=${encodeURIComponent(hash)}`}`;
}

function versionAddress({ spec: { group = "", version = "" } }: RemoteApiService): string {
  return `apis/${group}/${version}`;
}

/**
 * The documents of the group version and of its group; others are not this server's to describe. Of
 * the addresses that it gives only the hash counts.
 */
async function readRoot(
  body: Buffer,
  apiService: RemoteApiService,
): Promise<ReadonlyMap<string, RemoteDocument>> {
  const root = await JsonSpan.of(body).members();
  const paths = await root.get("paths")?.members();
  if (paths === undefined) throw new JsonSpanError("no root of OpenAPI 3 documents");
  const documents = new Map<string, RemoteDocument>();
  const version = versionAddress(apiService);
  for (const address of [version, version.slice(0, version.lastIndexOf("/"))]) {
    const entry = paths.get(address)?.parse();
    if (!isJsonObject(entry)) continue;
    documents.set(address, { apiService, hash: hashIn(String(entry["serverRelativeURL"] ?? "")) });
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
