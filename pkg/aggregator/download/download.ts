import type { User } from "#request";
import { isAvailable, type RemoteApiService } from "../api-services.ts";
import type { BackendResponse, BackendTransport } from "../contract.ts";

/** A document of the server behind an APIService. */
export interface DocumentRequest {
  readonly path: string;
  readonly accept: string;
  /** Entity tag of the document that is known already; "" = none. */
  readonly ifNoneMatch: string;
  readonly user: User;
  /** Time until the whole document must have arrived. */
  readonly timeoutMs: number;
  /** Size beyond which the document is refused. */
  readonly maxBytes: number;
}

export interface DownloadedDocument {
  readonly status: number;
  /** "" for a header that is absent. */
  readonly header: (name: string) => string;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** A document that exceeds a bound. */
class DownloadError extends Error {
  override readonly name = "DownloadError";
}

/** Memory of all documents that are being downloaded at a time, in bytes. */
const defaultBudget = 64 * 1024 * 1024;

/**
 * Downloads documents of the servers behind APIServices, within bounds of size and time, and of
 * memory for all downloads together. Many can run at once, so that a slow server delays no other.
 */
export class Downloader {
  private free: number;

  constructor(
    private readonly transport: BackendTransport,
    private readonly signal: AbortSignal,
    budget = defaultBudget,
  ) {
    this.free = budget;
  }

  /**
   * Answers 503 without a request while the APIService is not available.
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
        // A compressed document could be larger than any bound on what arrives.
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

  /** Copies chunks into one growing buffer: single bytes cost no more memory than large chunks. */
  private async read({ body }: BackendResponse, maxBytes: number): Promise<Buffer> {
    let [read, size] = [Buffer.alloc(0), 0];
    let taken = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        const needed = size + chunk.length;
        if (needed > maxBytes) throw new DownloadError(`document is larger than ${maxBytes} bytes`);
        if (needed > read.length) {
          const next = Math.max(needed, Math.min(2 * read.length, maxBytes), 64 * 1024);
          this.take(next - taken);
          taken = next;
          read = Buffer.concat([read.subarray(0, size)], next);
        }
        chunk.copy(read, size);
        size = needed;
      }
    } finally {
      this.free += taken;
      body.destroy();
    }
    return read.subarray(0, size);
  }

  private take(bytes: number): void {
    if (bytes > this.free) throw new DownloadError("too many documents are being downloaded");
    this.free -= bytes;
  }
}
