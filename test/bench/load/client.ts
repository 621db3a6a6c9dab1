import http2 from "node:http2";

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

/** One HTTP/2 connection with the few calls that loads need. */
export class Connection {
  private readonly session: http2.ClientHttp2Session;

  constructor(
    private readonly aim: Aim,
    onError = (error: Error): void => console.error(`connection: ${error.message}`),
  ) {
    this.session = http2.connect(aim.url, {
      ...(aim.ca === undefined ? { rejectUnauthorized: false } : { ca: aim.ca }),
      settings: { initialWindowSize: 1 << 24 },
    });
    this.session.on("connect", () => this.session.setLocalWindowSize(1 << 26));
    this.session.setMaxListeners(0);
    this.session.on("error", onError);
  }

  open(method: string, path: string, body?: Buffer, options: CallOptions = {}) {
    const { accept = "application/json", contentType = "application/json" } = options;
    const stream = this.session.request(
      {
        ":method": method,
        ":path": path,
        authorization: `Bearer ${this.aim.token}`,
        accept,
        ...this.aim.headers,
        // Go's clients, curl and fetch announce the length of what they send, too.
        ...(body && { "content-type": contentType, "content-length": body.length }),
      },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(body);
    return stream;
  }

  /** A whole answer; the body is counted and, unless `keep`, thrown away. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stream = this.open(method, path, options.body, options);
      const chunks: Buffer[] = [];
      let status = 0;
      let retryAfter = 0;
      stream.on("response", (headers) => {
        status = headers[":status"] ?? 0;
        retryAfter = Number(headers["retry-after"] ?? 0);
      });
      stream.on("data", (chunk: Buffer) => {
        if (options.keep || status >= 400) chunks.push(chunk);
      });
      stream.on("end", () => resolve({ status, body: Buffer.concat(chunks), retryAfter }));
      stream.on("error", reject);
    });
  }

  close(): void {
    this.session.destroy();
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
