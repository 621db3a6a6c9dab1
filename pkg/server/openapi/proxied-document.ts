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
/** Request headers that are forwarded to the aggregated server. */
const forwardedHeaders = ["accept", "if-none-match", "if-modified-since"];

export function queryOf({ url }: Exchange): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

/** Proxies the request for an OpenAPI 3 document of an aggregated server; false = it is not one. */
export async function proxyDocument(
  roots: Pick<OpenApiV3Roots, "current" | "open">,
  request: DocumentRequest,
): Promise<boolean> {
  const { exchange, path, user } = request;
  const address = path.startsWith(prefix) ? path.slice(prefix.length) : "";
  const document = roots.current.get(address);
  if (document === undefined || document.converted !== undefined) return false;
  if (exchange.method !== "GET") throw genericFailure(405);
  const headers: Record<string, string> = {};
  for (const name of forwardedHeaders) {
    const value = exchange.header(name);
    if (value !== undefined && value !== "") headers[name] = value;
  }
  const hash = queryOf(exchange).get("hash") ?? "";
  const { signal } = exchange;
  let response: ProxiedDocument;
  try {
    response = await roots.open(document, { path: address, hash, headers, user, signal });
  } catch {
    sendText(exchange, 503, "service unavailable\n");
    return true;
  }
  await send(response, request);
  return true;
}

/** Streams the response; aborts it if the document is too large or its connection fails. */
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
        throw new Error(`the document is larger than ${maxProxiedBytes} bytes`);
      await writer.write(chunk);
    }
    await writer.end();
  } finally {
    body.destroy();
    writer.abandon();
  }
}
