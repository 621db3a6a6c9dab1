import { isIP } from "node:net";
import { Readable } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { encodeHeaders, type Headers } from "../../../pkg/storage/etcd/grpc/hpack.ts";
import {
  type ClientStream,
  Http2Connection,
  type StreamEnd,
  type StreamObserver,
} from "../../../pkg/storage/etcd/grpc/http2-connection.ts";

/** Where a load goes. Works against any Kubernetes API server that takes a bearer token. */
export interface Aim {
  readonly url: string;
  readonly token: string;
  /** Sent with every request, to impersonate a user for example. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Certificates in PEM that the server's must come from; absent = any certificate is accepted. */
  readonly ca?: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  /** Value of Retry-After in seconds; 0 = none. */
  readonly retryAfter: number;
}

/** Flow-control window of streams and of the connection: never the limit of a load. */
const windowBytes = 1 << 26;
/** Limit of encoded headers that are kept: loads repeat paths and lengths of bodies. */
const maxEncoded = 1_000;
const emptyBody = Buffer.alloc(0);

/**
 * One HTTP/2 connection with the few calls that loads need. The client of node:http2 would add to what
 * is measured: it takes as much CPU per call as a server, and V8 keeps its streams until a mark-compact
 * (`ClientStream.release`), so that each of its scavenges stops the client for 5 to 15 ms.
 */
export class Connection {
  private readonly socket: TLSSocket;
  private readonly connection: Http2Connection;
  private readonly encoded = new Map<string, Buffer>();
  private fault: Error | undefined;
  private isClosed = false;

  constructor(
    private readonly aim: Aim,
    onError = (error: Error): void => console.error(`connection: ${error.message}`),
  ) {
    const { hostname, port } = new URL(aim.url);
    const host = hostname.replace(/^\[|\]$/g, "");
    this.socket = connect({
      host,
      port: Number(port || 443),
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["h2"],
      ...(aim.ca === undefined ? { rejectUnauthorized: false } : { ca: aim.ca }),
    });
    this.socket.on("error", (error) => {
      this.fault = error;
      onError(error);
    });
    this.connection = new Http2Connection(this.socket, {
      windowBytes,
      onSettings: () => undefined,
      onLeave: (reason) => (this.fault ??= new Error(reason)),
    });
  }

  /** Sends a request whose response is read as it arrives. */
  open(method: string, path: string, body?: Buffer, options: CallOptions = {}): ResponseStream {
    const stream = new ResponseStream((end) => {
      return this.isClosed ? undefined : this.failure(end);
    });
    stream.request = this.send({ method, path, body, options }, stream.observer);
    return stream;
  }

  /** The answer with its body, which is dropped unless `keep` is set or the call failed. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let head: Head = { status: 0, retryAfter: 0 };
      const stream = this.send(
        { method, path, body: options.body, options },
        {
          headers: (headers) => (head = headOf(headers) ?? head),
          data: (chunk) => {
            stream.consumed(chunk.length);
            if (options.keep || head.status >= 400) chunks.push(chunk);
          },
          closed: (end) => {
            if (end === "complete") resolve({ ...head, body: Buffer.concat(chunks) });
            else if (!this.isClosed) reject(this.failure(end));
          },
        },
      );
    });
  }

  /** Closes the connection; calls without an answer stay without one, and streams end. */
  close(): void {
    this.isClosed = true;
    this.socket.destroy();
  }

  private send(request: LoadRequest, observer: StreamObserver): ClientStream {
    if (!this.connection.isOpen) throw this.failure("refused");
    const stream = this.connection.open(this.headersOf(request), observer);
    stream.send(request.body ?? emptyBody, true);
    return stream;
  }

  private headersOf({ method, path, body, options }: LoadRequest): Buffer {
    const { accept = "application/json", contentType = "application/json" } = options;
    const length = body?.length;
    const key = `${method} ${path} ${accept} ${contentType} ${length}`;
    const known = this.encoded.get(key);
    if (known !== undefined) return known;
    const { url, token, headers = {} } = this.aim;
    const encoded = encodeHeaders([
      [":method", method],
      [":scheme", "https"],
      [":authority", new URL(url).host],
      [":path", path],
      ["authorization", `Bearer ${token}`],
      ["accept", accept],
      ...Object.entries(headers),
      // Go's clients, curl and fetch announce the length of what they send, too.
      ...(body === undefined
        ? []
        : ([
            ["content-type", contentType],
            ["content-length", String(length)],
          ] as const)),
    ]);
    if (this.encoded.size < maxEncoded) this.encoded.set(key, encoded);
    return encoded;
  }

  private failure(end: StreamEnd): Error {
    return this.fault ?? new Error(`the stream was ${end}`);
  }
}

interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer | undefined;
  readonly options: CallOptions;
}

type Head = Pick<Answer, "status" | "retryAfter">;

/** Status and Retry-After; undefined for trailers. */
function headOf(headers: Headers): Head | undefined {
  const status = headers.get(":status");
  if (status === undefined) return undefined;
  return { status: Number(status), retryAfter: Number(headers.get("retry-after") ?? 0) };
}

/** The body of a response; emits "response" with the status code before it. Never holds up its sender. */
export class ResponseStream extends Readable {
  request: ClientStream | undefined;
  readonly observer: StreamObserver = {
    headers: (headers) => {
      const head = headOf(headers);
      if (head !== undefined) this.emit("response", head.status);
    },
    data: (chunk) => {
      this.request?.consumed(chunk.length);
      this.push(chunk);
    },
    closed: (end) => {
      if (end === "complete") this.push(null);
      else this.destroy(this.failure(end));
    },
  };

  /** `failure` returns the error of a stream that was not complete; undefined = no error. */
  constructor(private readonly failure: (end: StreamEnd) => Error | undefined) {
    super();
  }

  override _read(): void {}

  /** Resets the stream. */
  close(): void {
    this.destroy();
    this.request?.cancel();
  }
}

export interface CallOptions {
  readonly body?: Buffer;
  readonly accept?: string;
  /** Media type of the body; default JSON. */
  readonly contentType?: string;
  readonly keep?: boolean;
}

/** Runs `call` `inFlight` at a time for `seconds`; calls that were completed a second. */
export async function rate(
  seconds: number,
  inFlight: number,
  call: (n: number) => Promise<Answer>,
): Promise<number> {
  let completed = 0;
  let next = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  const worker = async () => {
    while (performance.now() < end) {
      const answer = await call(next++);
      if (answer.status >= 400 || answer.status === 0) {
        throw new Error(`status ${answer.status}: ${answer.body.toString().slice(0, 300)}`);
      }
      completed++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return completed / ((performance.now() - start) / 1000);
}

/** What a config map is called: by its client, or by the server. */
type Named = { readonly name: string } | { readonly generateName: string };

/** A ConfigMap of about 1.3 KB. */
export function configMap(named: Named, payload = "x".repeat(1000)): Buffer {
  return Buffer.from(
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { ...named, labels: { app: "bench", shard: "5" } },
      data: { payload },
    }),
  );
}
