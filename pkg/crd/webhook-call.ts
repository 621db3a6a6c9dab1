import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { TraceHeaders } from "#request";

/** A webhook that converts objects. */
export interface WebhookPlace {
  readonly url: URL;
  /** PEM; "" = the authorities that the system trusts. */
  readonly authorities: string;
  /** Address and port behind the name in the URL; absent = as the name resolves. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
}

/** A call that came to nothing, in words for clients. */
export class CallFault extends Error {
  override readonly name = "CallFault";
}

interface Question {
  /** JSON. */
  readonly body: string;
  readonly signal: AbortSignal | undefined;
  /** Headers that say which trace this is a piece of. */
  readonly trace: TraceHeaders;
}

const timeoutMs = 30_000;
/** Converted objects are about as long as what was sent, which is bounded elsewhere. */
const longestAnswer = 16 * 2 ** 20;

/**
 * Posts JSON and reads the JSON of the answer. Connections are not kept, redirects not followed.
 * @throws CallFault, or the signal's reason
 */
export async function callWebhook(
  place: WebhookPlace,
  { body, signal, trace }: Question,
): Promise<unknown> {
  const url = new URL(place.url);
  url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
  const post = `Post ${JSON.stringify(url.href)}`;
  const ended = new AbortController();
  const limit = setTimeout(() => ended.abort(), timeoutMs);
  const leave = (): void => ended.abort();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    signal?.throwIfAborted();
    const answer = await exchange(place, url, { body, trace, signal: ended.signal });
    const text = await textOf(answer);
    return parsed(answer.statusCode ?? 0, text);
  } catch (error) {
    if (error instanceof CallFault) throw error;
    signal?.throwIfAborted();
    if (ended.signal.aborted) throw new CallFault(`${post}: context deadline exceeded`);
    throw new CallFault(`${post}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener("abort", leave);
  }
}

function exchange(
  { address, authorities }: WebhookPlace,
  url: URL,
  { body, signal, trace }: Question,
): Promise<IncomingMessage> {
  const bytes = Buffer.from(body);
  const headers = {
    ...trace,
    "content-type": "application/json",
    "content-length": bytes.byteLength,
    accept: "application/json",
    host: url.host,
  };
  const behind =
    address === undefined
      ? {}
      : { port: address.port, lookup: always(address.host), servername: url.hostname };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, {
      method: "POST",
      headers,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
      ...(authorities === "" ? {} : { ca: authorities }),
      ...behind,
    });
    request.once("response", resolve);
    request.once("error", reject);
    request.end(bytes);
  });
}

/** Resolves every name to one address. */
function always(host: string): LookupFunction {
  const family = host.includes(":") ? 6 : 4;
  return (_name, options, done) => {
    if (options.all === true) done(null, [{ address: host, family }]);
    else done(null, host, family);
  };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > longestAnswer) {
      answer.destroy();
      throw new CallFault(`the answer is longer than ${longestAnswer} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString("utf8");
}

function parsed(code: number, text: string): unknown {
  if (code < 200 || code >= 300) {
    throw new CallFault(`the server responded with the status code ${code}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CallFault("the server responded with something that is not JSON");
  }
}
