import type { User } from "#request";
import { isAvailable, type RemoteApiService } from "../api-services.ts";
import type { BackendResponse, BackendTransport } from "../contract.ts";

/** Request for a document of the server behind an APIService. */
export interface DocumentRequest {
  readonly path: string;
  readonly accept: string;
  /** Entity tag of the cached document; "" = none. */
  readonly ifNoneMatch: string;
  readonly user: User;
  /** Timeout of the complete download, in ms. */
  readonly timeoutMs: number;
  /** Size limit of the document. */
  readonly maxBytes: number;
}

export interface DownloadedDocument {
  readonly status: number;
  /** "" for a header that is absent. */
  readonly header: (name: string) => string;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** The document exceeds its size limit or the memory budget. */
class DownloadError extends Error {
  override readonly name = "DownloadError";
}

/** Memory budget of concurrent downloads, in bytes. */
const defaultBudget = 64 * 1024 * 1024;

/**
 * Downloads documents of the servers behind APIServices, with limits of size and time per download and
 * a shared memory budget.
 */
export class Downloader {
  private freeBytes: number;

  constructor(
    private readonly transport: BackendTransport,
    private readonly signal: AbortSignal,
    budget = defaultBudget,
  ) {
    this.freeBytes = budget;
  }

  /**
   * Returns status 503 without a request while the APIService is unavailable.
   * @throws BackendError or DownloadError
   */
  async get(apiService: RemoteApiService, request: DocumentRequest): Promise<DownloadedDocument> {
    if (!isAvailable(apiService)) return { status: 503, header: () => "", body: Buffer.alloc(0) };
    const { path, accept, ifNoneMatch, user, timeoutMs, maxBytes } = request;
    const response = await this.transport.send(apiService, {
      method: "GET",
      path,
      headers: {
        accept,
        // The size limit applies to the received bytes, which compression would circumvent.
        "accept-encoding": "identity",
        ...(ifNoneMatch === "" ? {} : { "if-none-match": ifNoneMatch }),
      },
      user,
      signal: this.signal,
      timeoutMs,
    });
    const header = (name: string) => String(response.headers[name] ?? "");
    if (response.status !== 200) {
      response.body.destroy();
      return { status: response.status, header, body: Buffer.alloc(0) };
    }
    return { status: response.status, header, body: await this.read(response, maxBytes) };
  }

  /** Copies chunks into one growing buffer, so that tiny chunks cannot multiply the memory used. */
  private async read({ body }: BackendResponse, maxBytes: number): Promise<Buffer> {
    let [read, size] = [Buffer.alloc(0), 0];
    let reserved = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        const needed = size + chunk.length;
        if (needed > maxBytes) throw new DownloadError(`document is larger than ${maxBytes} bytes`);
        if (needed > read.length) {
          const next = Math.max(needed, Math.min(2 * read.length, maxBytes), 64 * 1024);
          this.reserve(next - reserved);
          reserved = next;
          read = Buffer.concat([read.subarray(0, size)], next);
        }
        chunk.copy(read, size);
        size = needed;
      }
    } finally {
      this.freeBytes += reserved;
      body.destroy();
    }
    return read.subarray(0, size);
  }

  private reserve(bytes: number): void {
    if (bytes > this.freeBytes) throw new DownloadError("too many documents are being downloaded");
    this.freeBytes -= bytes;
  }
}
