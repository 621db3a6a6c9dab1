import { type Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { dialFailure, textWithin, trustServers } from "#base";
import { TlsAgent } from "#pki";
import type { DialTarget } from "../services/dialer.ts";
import { CallFault } from "./call-fault.ts";
import { parseResponse, type WebhookResponse } from "./response.ts";

/** URL, CA bundle and address of a webhook. */
export interface WebhookPlace {
  readonly url: URL;
  /** CA bundle as PEM; "" for the system's trust store. */
  readonly authorities: string;
  /** Whether the URL names a Service, which is resolved without DNS. */
  readonly isService: boolean;
  /** Resolves where to connect. */
  readonly target: (signal: AbortSignal | undefined) => Promise<DialTarget>;
}

interface WebhookCall {
  /** Request body as JSON text. */
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Agent with keep-alive connections; absent for a new connection per call. */
  readonly agent?: Agent;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Limit of a response in bytes; responses are about as large as requests, which have their own limit. */
const maxResponseBytes = 16 * 2 ** 20;

/**
 * Posts JSON and parses the JSON response. Does not follow redirects, with which a webhook could choose
 * the addresses that this server connects to (SSRF).
 *
 * @throws CallFault, or the signal's reason
 */
export async function callWebhook(place: WebhookPlace, call: WebhookCall): Promise<unknown> {
  const { timeoutMs, signal } = call;
  const url = new URL(place.url);
  url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
  const post = `Post ${JSON.stringify(displayUrl(place, url))}`;
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    signal?.throwIfAborted();
    return parseResponse(await sendWithRetry(place, url, { ...call, signal: controller.signal }));
  } catch (error) {
    if (error instanceof CallFault) throw error;
    signal?.throwIfAborted();
    if (controller.signal.aborted) throw new CallFault(`${post}: context deadline exceeded`);
    const address = { host: hostOf(url), port: url.port || "443" };
    throw new CallFault(`${post}: ${dialFailure(address, error as Error)}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** The URL in errors; that of a service always includes the port. */
function displayUrl({ isService }: WebhookPlace, url: URL): string {
  if (!isService || url.port !== "") return url.href;
  return url.href.replace(url.host, `${url.host}:443`);
}

/** The host without the brackets of an IPv6 address, as sockets require. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Retries once on a new connection if the webhook has closed the keep-alive connection. */
async function sendWithRetry(
  place: WebhookPlace,
  url: URL,
  call: WebhookCall,
): Promise<WebhookResponse> {
  try {
    return await exchange(place, url, call);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    const { agent: _agent, ...withoutAgent } = call;
    return exchange(place, url, withoutAgent);
  }
}

/** The webhook reset an idle keep-alive connection before it received the request. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

async function exchange(
  { target, authorities }: WebhookPlace,
  url: URL,
  { body, agent, signal, headers }: WebhookCall,
): Promise<WebhookResponse> {
  const bytes = Buffer.from(body);
  const { host, port, lookup } = await target(signal);
  const server = { host, port, lookup, servername: hostOf(url) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest({
      protocol: url.protocol,
      ...server,
      path: `${url.pathname}${url.search}`,
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": bytes.byteLength,
        accept: "application/json, */*",
        host: url.host,
      },
      agent: agent ?? new TlsAgent(),
      ...(signal === undefined ? {} : { signal }),
      ...trustServers(authorities),
    });
    request.once("response", resolve);
    request.once("error", (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && error.code === "ECONNRESET";
      reject(isStale ? new StaleConnection() : error);
    });
    request.end(bytes);
  });
  const contentType = response.headers["content-type"] ?? "";
  return { code: response.statusCode ?? 0, contentType, text: await textOf(response) };
}

async function textOf(response: IncomingMessage): Promise<string> {
  const text = await textWithin(response, maxResponseBytes);
  if (text !== undefined) return text;
  throw new CallFault(`the response is larger than ${maxResponseBytes} bytes`);
}
