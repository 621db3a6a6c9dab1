/**
 * Upper limit of the machine: a bare node:http2 server with prepared buffers. Runs as a child
 * process and prints its port. GET /object (1.45 KB), GET /page (668 KB), GET /list (13.4 MB), POST
 * /object, GET /watch (every POST is delivered to every watcher as one shared buffer, with writes
 * of one turn put together).
 */
import http2 from "node:http2";
import { readFileSync } from "node:fs";

const [keyFile = "", certFile = ""] = process.argv.slice(2);
const object = Buffer.alloc(1450, "x");
const page = Buffer.alloc(668_000, "x");
const list = Buffer.alloc(13_400_000, "x");
const watchers = new Set<http2.ServerHttp2Stream>();
let pending: Buffer[] = [];

function deliver(event: Buffer): void {
  if (pending.length === 0) setImmediate(flush);
  pending.push(event);
}

function flush(): void {
  const joined = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending);
  pending = [];
  for (const watcher of watchers) watcher.write(joined);
}

const bodies: Readonly<Record<string, Buffer>> = {
  "/object": object,
  "/page": page,
  "/list": list,
};

const server = http2.createSecureServer({
  key: readFileSync(keyFile),
  cert: readFileSync(certFile),
  settings: { maxConcurrentStreams: 10_000 },
});
server.on("stream", (stream, headers) => {
  stream.on("error", () => watchers.delete(stream));
  if (headers[":method"] === "POST") {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      deliver(object);
      stream.respond({ ":status": 201, "content-type": "application/json" });
      stream.end(object);
    });
    return;
  }
  stream.respond({ ":status": 200, "content-type": "application/json" });
  if (headers[":path"]?.startsWith("/watch")) {
    watchers.add(stream);
    stream.on("close", () => watchers.delete(stream));
  } else stream.end(bodies[headers[":path"] ?? ""] ?? object);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
