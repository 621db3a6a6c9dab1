import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { dialFailure, textWithin, printJson } from "#base";
import { TlsAgent } from "#pki";
import type { Clock } from "#base";
import { parseExactJson } from "#schema";
import { noTracer, type TraceHeaders, type Tracer } from "../tracer.ts";
import type { Endpoint } from "./kubeconfig.ts";

export interface WebhookOptions {
  readonly endpoint: Endpoint;
  /** Timeout of one attempt, in ms. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Delay in ms before the second attempt, which grows by a factor of 1.5. Default 500. */
  readonly initialBackoffMs?: number;
  /** Maximum number of attempts; default 5. */
  readonly attempts?: number;
  /** Whether a failure is retried; default: connection resets and overloaded servers. */
  readonly isRetriable?: (fault: WebhookFault) => boolean;
  /** Source of jitter, numbers in [0, 1). */
  readonly random?: () => number;
  /** Traces every attempt. */
  readonly tracer?: Tracer;
}

/** A failed call; the message contains the URL, but neither request nor response. */
export class WebhookFault extends Error {
  override readonly name = "WebhookFault";

  constructor(
    message: string,
    /** HTTP status; undefined = no response. */
    readonly code: number | undefined,
    readonly isRetriable: boolean,
  ) {
    super(message);
  }
}

export interface WebhookClient {
  /**
   * Posts a body as JSON and returns the JSON response.
   * @throws WebhookFault, or the signal's reason
   */
  post(body: object, signal?: AbortSignal): Promise<unknown>;
  /**
   * Posts a body, or its JSON text, and ignores the response body. Throws as `post` does.
   */
  send(body: object | string, signal?: AbortSignal): Promise<void>;
  /** Closes idle keep-alive connections. */
  close(): void;
}

interface AttemptOptions {
  readonly signal: AbortSignal | undefined;
  readonly trace: TraceHeaders;
}

const defaultBackoffMs = 500;
const defaultAttempts = 5;
const backoffFactor = 1.5;
const jitter = 0.2;
/** Size limit of a response: that of objects. */
const maxResponseBytes = 3 * 1024 * 1024;
const maxConnections = 100;

/** A client of the webhook server in a kubeconfig. */
export function webhookClient(options: WebhookOptions): WebhookClient {
  return new Webhook(options);
}

class Webhook implements WebhookClient {
  private readonly agent: HttpAgent;
  private readonly displayUrl: string;

  constructor(private readonly options: WebhookOptions) {
    const { url, tls } = options.endpoint;
    const common = { keepAlive: true, maxSockets: maxConnections };
    this.agent =
      url.protocol === "https:" ? new TlsAgent({ ...common, ...tls }) : new HttpAgent(common);
    this.displayUrl = `${url.protocol}//${url.host}${url.pathname}`;
  }

  async post(body: object, signal?: AbortSignal): Promise<unknown> {
    const text = await this.sendWithRetries(body, signal);
    try {
      return parseExactJson(text);
    } catch {
      throw this.fault("the response is not JSON");
    }
  }

  async send(body: object | string, signal?: AbortSignal): Promise<void> {
    await this.sendWithRetries(body, signal);
  }

  close(): void {
    this.agent.destroy();
  }

  /** Retries retriable failures with backoff. */
  private async sendWithRetries(body: object | string, signal?: AbortSignal): Promise<string> {
    const { clock, attempts = defaultAttempts, initialBackoffMs = defaultBackoffMs } = this.options;
    const { isRetriable = (fault) => fault.isRetriable, random = Math.random } = this.options;
    const bytes = Buffer.from(typeof body === "string" ? body : printJson(body));
    let wait = initialBackoffMs;
    for (let rest = attempts - 1; ; rest--) {
      try {
        return await this.traced(bytes, signal);
      } catch (error) {
        const mayPass = error instanceof WebhookFault && isRetriable(error);
        if (!mayPass || rest <= 0) throw error;
      }
      await clock.sleep(wait * (1 + random() * jitter), signal);
      wait *= backoffFactor;
    }
  }

  private traced(body: Uint8Array, signal?: AbortSignal): Promise<string> {
    const { tracer = noTracer } = this.options;
    const attributes = { "http.request.method": "POST", "url.full": this.displayUrl };
    return tracer.call("webhook", attributes, (trace) => this.attempt(body, { signal, trace }));
  }

  /** Makes one attempt; returns the body of a 2xx response. */
  private async attempt(body: Uint8Array, { signal, trace }: AttemptOptions): Promise<string> {
    signal?.throwIfAborted();
    const ended = new AbortController();
    const limit = setTimeout(() => ended.abort(), this.options.timeoutMs);
    const leave = () => ended.abort();
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const response = await this.exchange(body, { signal: ended.signal, trace });
      const text = await this.textOf(response);
      const { statusCode: code = 0 } = response;
      if (code >= 200 && code < 300) return text;
      const hasRetryAfter = response.headers["retry-after"] !== undefined;
      const message = `the server responded with status ${code}`;
      throw this.fault(message, {
        code,
        isRetriable: hasRetryAfter || [429, 500, 504].includes(code),
      });
    } catch (error) {
      if (error instanceof WebhookFault) throw error;
      signal?.throwIfAborted();
      if (ended.signal.aborted) throw this.fault("context deadline exceeded");
      const { code = "" } = error as NodeJS.ErrnoException;
      const { hostname, port, protocol } = this.options.endpoint.url;
      const place = {
        host: hostname.replace(/^\[(.*)\]$/, "$1"),
        port: port || (protocol === "https:" ? "443" : "80"),
      };
      throw this.fault(dialFailure(place, error as Error), { isRetriable: code === "ECONNRESET" });
    } finally {
      clearTimeout(limit);
      signal?.removeEventListener("abort", leave);
    }
  }

  private exchange(body: Uint8Array, { signal, trace }: AttemptOptions): Promise<IncomingMessage> {
    const { endpoint, timeoutMs } = this.options;
    const url = new URL(endpoint.url);
    url.searchParams.set("timeout", `${Math.ceil(timeoutMs / 1000)}s`);
    const authorization = endpoint.authorization();
    const headers = {
      ...trace,
      "content-type": "application/json",
      "content-length": body.byteLength,
      accept: "application/json",
      ...(authorization === undefined ? {} : { authorization }),
    };
    return new Promise((resolve, reject) => {
      const options = { method: "POST", headers, agent: this.agent };
      const request = httpRequest(url, signal === undefined ? options : { ...options, signal });
      request.once("response", resolve);
      request.once("error", reject);
      request.end(body);
    });
  }

  private async textOf(response: IncomingMessage): Promise<string> {
    const text = await textWithin(response, maxResponseBytes);
    if (text !== undefined) return text;
    throw this.fault(`the response is larger than ${maxResponseBytes} bytes`);
  }

  private fault(
    message: string,
    { code, isRetriable = false }: { readonly code?: number; readonly isRetriable?: boolean } = {},
  ): WebhookFault {
    return new WebhookFault(
      `Post ${JSON.stringify(this.displayUrl)}: ${message}`,
      code,
      isRetriable,
    );
  }
}
