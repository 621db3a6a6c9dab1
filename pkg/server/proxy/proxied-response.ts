/** Responses of backends as kube-apiserver's proxies pass them on. */
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { deflateRaw, gunzip, gzip, inflateRaw } from "node:zlib";
import { internalError, plainFailure, UrlFault } from "#meta";
import type { ResponseHeaders } from "../transport/exchange.ts";
import { rewriteLinks } from "./html-links.ts";
import { rewriteUrl, type UrlRewriting } from "./rewrite-url.ts";

export interface ProxiedResponse {
  readonly headers: ResponseHeaders;
  readonly body: AsyncIterable<Uint8Array>;
}

/** CORS headers of a backend, which would allow scripts of its pages to use this server. */
const corsHeaders = new Set([
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
]);

/** Size limit in bytes of a page with rewritten links; larger pages are passed on as they are. */
const maxPageBytes = 4 * 2 ** 20;

/**
 * Rewrites the Location of a response, or the links of an HTML page.
 * @throws StatusError 500 for a Location that is not a URL and for a page that cannot be decompressed
 */
export async function rewrittenResponse(
  { headers, body }: { readonly headers: ResponseHeaders; readonly body: Readable },
  rewriting: UrlRewriting,
): Promise<ProxiedResponse> {
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !corsHeaders.has(name)),
  );
  const location = String(kept["location"] ?? "");
  if (location !== "") {
    return { headers: { ...kept, location: rewrittenLocation(location, rewriting) }, body };
  }
  const encoding = String(kept["content-encoding"] ?? "");
  const [type = ""] = String(kept["content-type"] ?? "").split(";");
  const codec = codecs.get(encoding);
  if (type.trim() !== "text/html" || codec === undefined) return { headers: kept, body };
  const { "content-length": _, ...rest } = kept;
  return { headers: rest, body: await rewrittenPage(body, codec, rewriting) };
}

function rewrittenLocation(location: string, rewriting: UrlRewriting): string {
  try {
    return rewriteUrl(location, rewriting);
  } catch (error) {
    if (!(error instanceof UrlFault)) throw error;
    throw internalError(`error trying to parse Location header: ${error.message}`);
  }
}

interface Codec {
  readonly decode: (page: Buffer) => Promise<Buffer>;
  readonly encode: (page: Buffer) => Promise<Buffer>;
}

const limit = { maxOutputLength: maxPageBytes };

/** By Content-Encoding; "deflate" has no zlib header, as with Go's compress/flate. */
const codecs: ReadonlyMap<string, Codec> = new Map([
  ["", { decode: async (page: Buffer) => page, encode: async (page: Buffer) => page }],
  ["gzip", { decode: (page: Buffer) => promisify(gunzip)(page, limit), encode: promisify(gzip) }],
  [
    "deflate",
    { decode: (page: Buffer) => promisify(inflateRaw)(page, limit), encode: promisify(deflateRaw) },
  ],
] as const);

async function rewrittenPage(
  body: Readable,
  { decode, encode }: Codec,
  rewriting: UrlRewriting,
): Promise<AsyncIterable<Uint8Array>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const source = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (let next = await source.next(); next.done !== true; next = await source.next()) {
    chunks.push(next.value);
    size += next.value.byteLength;
    if (size > maxPageBytes) return chunksAnd(chunks, source);
  }
  if (size === 0) return chunksAnd([]);
  const page = await decode(Buffer.concat(chunks)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw plainFailure(error.message);
  });
  if (page === undefined) return chunksAnd(chunks);
  const text = page.toString("utf8");
  // Go's tokenizer assumes UTF-8 as well.
  const links = rewriteLinks(text, (url) => {
    try {
      return rewriteUrl(url, rewriting);
    } catch (error) {
      if (error instanceof UrlFault) return undefined;
      throw error;
    }
  });
  return chunksAnd([await encode(Buffer.from(links))]);
}

async function* chunksAnd(
  chunks: readonly Uint8Array[],
  rest?: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (rest === undefined) return;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
