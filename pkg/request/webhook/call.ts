import type { Agent, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { dialFailure, textWithin, trustServers } from "#base";
import { CallFault } from "./call-fault.ts";
import { parseResponse, type WebhookResponse } from "./response.ts";

/** Where a webhook of a stored configuration is. */
export interface WebhookPlace {
  readonly url: URL;
  /** PEM; "" = the authorities that the system trusts. */
  readonly authorities: string;
  /** Finds the address behind the name in the URL; absent = as the name resolves. */
  readonly address?: (() => Promise<{ readonly host: string; readonly port: number }>) | undefined;
}

interface WebhookCall {
  /** Request body as JSON text. */
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Keeps connections; absent = each call has its own. */
  readonly agent?: Agent;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is answered is about as long as what was sent, which is bounded elsewhere. */
const longestAnswer = 16 * 2 ** 20;

/**
 * Posts JSON and reads the JSON of the answer. Redirects are not followed: they would let a webhook
 * say where this server connects to.
 * @throws CallFault, or the signal's reason
 */
export async function callWebhook(place: WebhookPlace, call: WebhookCall): Promise<unknown> {
  const { timeoutMs, signal } = call;
  const url = new URL(place.url);
  url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
  const post = `Post ${JSON.stringify(shown(place, url))}`;
  const ended = new AbortController();
  const limit = setTimeout(() => ended.abort(), timeoutMs);
  const leave = (): void => ended.abort();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    signal?.throwIfAborted();
    return parseResponse(await insistently(place, url, { ...call, signal: ended.signal }));
  } catch (error) {
    if (error instanceof CallFault) throw error;
    signal?.throwIfAborted();
    if (ended.signal.aborted) throw new CallFault(`${post}: context deadline exceeded`);
    const dialled = { host: hostOf(url), port: url.port || "443" };
    throw new CallFault(`${post}: ${dialFailure(dialled, error as Error)}`);
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener("abort", leave);
  }
}

/** A service is shown with its port, whichever it is. */
function shown({ address }: WebhookPlace, url: URL): string {
  if (address === undefined || url.port !== "") return url.href;
  return url.href.replace(url.host, `${url.host}:443`);
}

/** The host as resolvers and sockets take it: an IPv6 address has no brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Once more where a kept connection turns out to have ended before the request came. */
async function insistently(
  place: WebhookPlace,
  url: URL,
  call: WebhookCall,
): Promise<WebhookResponse> {
  try {
    return await exchange(place, url, call);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    const { agent: _kept, ...fresh } = call;
    return exchange(place, url, fresh);
  }
}

class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

async function exchange(
  { address, authorities }: WebhookPlace,
  url: URL,
  { body, agent, signal, headers }: WebhookCall,
): Promise<WebhookResponse> {
  const bytes = Buffer.from(body);
  const found = await address?.();
  const behind = found && { host: found.host, hostname: found.host, port: found.port };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpsRequest({
      protocol: url.protocol,
      hostname: hostOf(url),
      port: url.port,
      path: `${url.pathname}${url.search}`,
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": bytes.byteLength,
        accept: "application/json",
        host: url.host,
      },
      agent: agent ?? false,
      ...(signal === undefined ? {} : { signal }),
      ...trustServers(authorities),
      ...(behind === undefined ? {} : { ...behind, servername: url.hostname }),
    });
    request.once("response", resolve);
    request.once("error", (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && error.code === "ECONNRESET";
      reject(isStale ? new StaleConnection() : error);
    });
    request.end(bytes);
  });
  const contentType = answer.headers["content-type"] ?? "";
  return { code: answer.statusCode ?? 0, contentType, text: await textOf(answer) };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const text = await textWithin(answer, longestAnswer);
  if (text !== undefined) return text;
  throw new CallFault(`the answer is longer than ${longestAnswer} bytes`);
}
