import { type IncomingMessage, request } from "node:http";
import { textWithin, trustServers } from "#base";
import { TlsAgent } from "#pki";
import { parseJson } from "#schema";

export interface FetchOptions {
  /** CA certificates of the server (PEM); undefined = those of the system. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
  /** Bearer token; absent or "" = none. */
  readonly token?: string;
}

const timeoutMs = 10_000;
const maxDocumentBytes = 1024 * 1024;

/** Fetches a JSON document, like `fetchText`. */
export async function fetchJson(url: string, options: FetchOptions): Promise<unknown> {
  const text = await fetchText(url, options);
  try {
    return parseJson(text).value;
  } catch (error) {
    throw new Error(`Get ${JSON.stringify(url)}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Fetches a small document over HTTPS. Does not follow redirects: keys must come from the configured URL.
 * @throws Error with the URL and the reason
 */
export async function fetchText(url: string, options: FetchOptions): Promise<string> {
  const call = new AbortController();
  const abort = () => call.abort();
  const timer = setTimeout(abort, timeoutMs);
  options.signal.addEventListener("abort", abort, { once: true });
  try {
    options.signal.throwIfAborted();
    const response = await sendRequest(url, { ...options, signal: call.signal });
    const { statusCode } = response;
    if (statusCode !== 200) {
      response.destroy();
      throw new Error(`the server responded with status ${statusCode}`);
    }
    return await textOf(response);
  } catch (error) {
    const isLate = call.signal.aborted && !options.signal.aborted;
    const detail = isLate ? `no response within ${timeoutMs / 1000} s` : (error as Error).message;
    throw new Error(`Get ${JSON.stringify(url)}: ${detail}`, { cause: error });
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", abort);
  }
}

function sendRequest(
  url: string,
  { ca, signal, token = "" }: FetchOptions,
): Promise<IncomingMessage> {
  const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
  const headers = { accept: "application/json, application/jwt", ...authorization };
  // Fetches are rare: no keep-alive.
  return new Promise((resolve, reject) => {
    const agent = new TlsAgent(trustServers(ca));
    const outgoing = request(url, { headers, signal, agent }, resolve);
    outgoing.once("error", reject);
    outgoing.end();
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  const text = await textWithin(response, maxDocumentBytes);
  if (text !== undefined) return text;
  throw new Error(`the document is longer than ${maxDocumentBytes} bytes`);
}
