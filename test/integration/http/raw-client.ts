import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The bytes of a request: head and body, which are sent as two TLS records. */
export function rawRequest({ method, path, headers, body }: RawRequest): readonly string[] {
  const length = body === undefined ? {} : { "Content-Length": `${Buffer.byteLength(body)}` };
  const all = Object.entries({ Host: "localhost", ...length, ...headers });
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return [`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, ...(body === undefined ? [] : [body])];
}

/**
 * An HTTP/1.1 connection that writes bytes as the test says, without the delays of a real client, and
 * parses responses in their order.
 */
export class RawConnection {
  private received = Buffer.alloc(0);
  private end: Error | undefined;
  private wake = (): void => undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    socket.on("error", (error) => (this.end ??= error));
    socket.on("close", () => {
      this.end ??= new Error("the server closed the connection");
      this.wake();
    });
  }

  static async open(port: number, isTls: boolean): Promise<RawConnection> {
    const options = { host: "127.0.0.1", port };
    const socket = isTls
      ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
      : connectPlain(options);
    const connection = new RawConnection(socket);
    await once(socket, isTls ? "secureConnect" : "connect");
    return connection;
  }

  /** Writes each piece as one record; resolves when the last one has been passed to the kernel. */
  async send(pieces: readonly string[]): Promise<void> {
    await Promise.all(
      pieces.map((piece) => new Promise((resolve) => this.socket.write(piece, resolve))),
    );
  }

  /** Stops reading, so that the buffers between server and client fill. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** The head of the next response. */
  async head(): Promise<string> {
    return (await this.take(() => this.endOf("\r\n\r\n"))).toString();
  }

  /** The next response. Rejects if the connection ends before it is complete. */
  async response(method = "GET"): Promise<RawResponse> {
    const head = await this.head();
    const status = Number(head.slice(9, 12));
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    if (status < 200 || method === "HEAD") return { status, head, body: "" };
    const body = length === undefined ? await this.chunks() : await this.take(() => Number(length));
    return { status, head, body: body.toString() };
  }

  close(): void {
    this.socket.destroy();
  }

  /** The body of a chunked response, after its head. */
  async chunks(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (;;) {
      const line = await this.take(() => this.endOf("\r\n"));
      const size = Number.parseInt(line.toString(), 16);
      const chunk = await this.take(() => size + 2);
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  private endOf(mark: string): number {
    const at = this.received.indexOf(mark);
    return at < 0 ? -1 : at + mark.length;
  }

  /** Removes as many bytes as `length` returns, once they have arrived; it returns -1 while unknown. */
  private async take(length: () => number): Promise<Buffer> {
    for (;;) {
      const size = length();
      if (size >= 0 && size <= this.received.length) {
        const bytes = this.received.subarray(0, size);
        this.received = this.received.subarray(size);
        return bytes;
      }
      if (this.end !== undefined) throw this.end;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}
