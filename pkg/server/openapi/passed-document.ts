import { maxProxiedBytes, type OpenApiV3Roots, type ProxiedDocument } from "#aggregator";
import { genericFailure } from "#meta";
import type { User } from "#request";
import type { Limits } from "../limits.ts";
import { gzipAbove, ResponseWriter, sendText } from "../response/response-writer.ts";
import { responseBufferPoolOf } from "../response/response-buffer-pool.ts";
import type { Exchange } from "../transport/exchange.ts";

interface DocumentRequest {
  readonly exchange: Exchange;
  readonly path: string;
  readonly user: User;
  readonly limits: Limits;
}

const prefix = "/openapi/v3/";
/** Request headers that the other server sees. */
const passedRequestHeaders = ["accept", "if-none-match", "if-modified-since"];

export function queryOf({ url }: Exchange): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

/** Passes an OpenAPI 3 document of another server through; false = the path names none. */
export async function passDocument(
  roots: Pick<OpenApiV3Roots, "current" | "open">,
  request: DocumentRequest,
): Promise<boolean> {
  const { exchange, path, user } = request;
  const address = path.startsWith(prefix) ? path.slice(prefix.length) : "";
  const document = roots.current.get(address);
  if (document === undefined || document.converted !== undefined) return false;
  if (exchange.method !== "GET") throw genericFailure(405);
  const headers: Record<string, string> = {};
  for (const name of passedRequestHeaders) {
    const value = exchange.header(name);
    if (value !== undefined && value !== "") headers[name] = value;
  }
  const hash = queryOf(exchange).get("hash") ?? "";
  const { signal } = exchange;
  let passed: ProxiedDocument;
  try {
    passed = await roots.open(document, { path: address, hash, headers, user, signal });
  } catch {
    sendText(exchange, 503, "service unavailable\n");
    return true;
  }
  await send(passed, request);
  return true;
}

/** Streams the body; one that is too large or breaks off is cut off. */
async function send(
  { status, headers, body }: ProxiedDocument,
  { exchange, limits }: DocumentRequest,
): Promise<void> {
  const writer = new ResponseWriter(exchange.response, {
    status,
    headers,
    gzipAbove: gzipAbove(exchange, limits.gzipThreshold),
    memory: responseBufferPoolOf(limits),
  });
  try {
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxProxiedBytes)
        throw new Error(`document is larger than ${maxProxiedBytes} bytes`);
      await writer.write(chunk);
    }
    await writer.end();
  } finally {
    body.destroy();
    writer.abandon();
  }
}
