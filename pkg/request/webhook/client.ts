import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { textWithin, parseJsonText } from "#base";
import type { Clock } from "#base";
import { noTracer, type TraceHeaders, type Tracer } from "../tracer.ts";
import type { Endpoint } from "./kubeconfig.ts";

export interface WebhookOptions {
  readonly endpoint: Endpoint;
  /** Longest time for one try. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Wait before the second try; each further one is half as long again. Default 500. */
  readonly initialBackoffMs?: number;
  /** Tries in all; default 5. */
  readonly tries?: number;
  /** Which failures may pass by themselves; default: lost connections and busy servers. */
  readonly isPassing?: (fault: WebhookFault) => boolean;
  /** A number in [0, 1), which spreads the tries of many callers. */
  readonly random?: () => number;
  /** Records every try. */
  readonly tracer?: Tracer;
}

/** A call that came to nothing; the message names the place, never what was sent or answered. */
export class WebhookFault extends Error {
  override readonly name = "WebhookFault";

  constructor(
    message: string,
    /** HTTP status; undefined = there was no answer. */
    readonly code: number | undefined,
    readonly isPassing: boolean,
  ) {
    super(message);
  }
}

export interface WebhookClient {
  /**
   * Sends a body as JSON and reads the JSON of the answer.
   * @throws WebhookFault, or the signal's reason
   */
  post(body: object, signal?: AbortSignal): Promise<unknown>;
  /**
   * Sends a body, or the JSON text of one, whose answer does not matter beyond its status; throws
   * as `post` does.
   */
  send(body: object | string, signal?: AbortSignal): Promise<void>;
  /** Closes idle keep-alive connections. */
  close(): void;
}

interface Try {
  readonly signal: AbortSignal | undefined;
  readonly trace: TraceHeaders;
}

const defaultBackoffMs = 500;
const defaultTries = 5;
const backoffFactor = 1.5;
const jitter = 0.2;
/** No review is longer than an object may be. */
const longestAnswer = 3 * 1024 * 1024;
const mostConnections = 100;

/** A client of the webhook that a kubeconfig leads to. */
export function webhookClient(options: WebhookOptions): WebhookClient {
  return new Webhook(options);
}

class Webhook implements WebhookClient {
  private readonly agent: HttpAgent;
  private readonly place: string;

  constructor(private readonly options: WebhookOptions) {
    const { url, tls } = options.endpoint;
    const common = { keepAlive: true, maxSockets: mostConnections };
    this.agent =
      url.protocol === "https:" ? new HttpsAgent({ ...common, ...tls }) : new HttpAgent(common);
    this.place = `${url.protocol}//${url.host}${url.pathname}`;
  }

  async post(body: object, signal?: AbortSignal): Promise<unknown> {
    const text = await this.insistently(body, signal);
    try {
      return parseJsonText(text) as unknown;
    } catch {
      throw this.fault("the answer is not JSON");
    }
  }

  async send(body: object | string, signal?: AbortSignal): Promise<void> {
    await this.insistently(body, signal);
  }

  close(): void {
    this.agent.destroy();
  }

  /** Tries again while a failure is one that may pass. */
  private async insistently(body: object | string, signal?: AbortSignal): Promise<string> {
    const { clock, tries = defaultTries, initialBackoffMs = defaultBackoffMs } = this.options;
    const { isPassing = (fault) => fault.isPassing, random = Math.random } = this.options;
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    let wait = initialBackoffMs;
    for (let rest = tries - 1; ; rest--) {
      try {
        return await this.traced(bytes, signal);
      } catch (error) {
        const mayPass = error instanceof WebhookFault && isPassing(error);
        if (!mayPass || rest <= 0) throw error;
      }
      await clock.sleep(wait * (1 + random() * jitter), signal);
      wait *= backoffFactor;
    }
  }

  private traced(body: Uint8Array, signal?: AbortSignal): Promise<string> {
    const { tracer = noTracer } = this.options;
    const attributes = { "http.request.method": "POST", "url.full": this.place };
    return tracer.call("webhook", attributes, (trace) => this.once(body, { signal, trace }));
  }

  /** One try; the text of a good answer. */
  private async once(body: Uint8Array, { signal, trace }: Try): Promise<string> {
    signal?.throwIfAborted();
    const ended = new AbortController();
    const limit = setTimeout(() => ended.abort(), this.options.timeoutMs);
    const leave = () => ended.abort();
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const answer = await this.exchange(body, { signal: ended.signal, trace });
      const text = await this.textOf(answer);
      const { statusCode: code = 0 } = answer;
      if (code >= 200 && code < 300) return text;
      const asksAgain = answer.headers["retry-after"] !== undefined;
      const story = `the server answered with status ${code}`;
      throw this.fault(story, { code, isPassing: asksAgain || [429, 500, 504].includes(code) });
    } catch (error) {
      if (error instanceof WebhookFault) throw error;
      signal?.throwIfAborted();
      if (ended.signal.aborted) throw this.fault("context deadline exceeded");
      const { code = "", message } = error as NodeJS.ErrnoException;
      throw this.fault(message, { isPassing: code === "ECONNRESET" });
    } finally {
      clearTimeout(limit);
      signal?.removeEventListener("abort", leave);
    }
  }

  private exchange(body: Uint8Array, { signal, trace }: Try): Promise<IncomingMessage> {
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
    const start = url.protocol === "https:" ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const options = { method: "POST", headers, agent: this.agent };
      const request = start(url, signal === undefined ? options : { ...options, signal });
      request.once("response", resolve);
      request.once("error", reject);
      request.end(body);
    });
  }

  private async textOf(answer: IncomingMessage): Promise<string> {
    const text = await textWithin(answer, longestAnswer);
    if (text !== undefined) return text;
    throw this.fault(`the answer is longer than ${longestAnswer} bytes`);
  }

  private fault(
    story: string,
    { code, isPassing = false }: { readonly code?: number; readonly isPassing?: boolean } = {},
  ): WebhookFault {
    return new WebhookFault(`Post ${JSON.stringify(this.place)}: ${story}`, code, isPassing);
  }
}
