/** Debugging endpoints: `/debug/…`, `/statusz` and `/flagz`. */
import { type AdjustableLogger, printJson } from "#base";
import type { Query } from "#request";
import { sendResponse, sendText } from "../response/response-writer.ts";
import type { Exchange } from "../transport/exchange.ts";
import { notRepresentable } from "../response/failures.ts";
import { covers, parseAccept } from "../response/negotiation.ts";
import { memoryStatistics, Profiler, ProfilerBusy } from "./profiling.ts";

export interface DebuggingOptions {
  /** Logger whose verbosity `PUT /debug/flags/v` sets. */
  readonly logger: AdjustableLogger;
  /** Whether `/debug/pprof/` and `/debug/flags/v` are served. */
  readonly profiling: boolean;
  /** JSON documents by path below `/debug/`. */
  readonly values: ReadonlyMap<string, () => object | Promise<object>>;
  /** Plain texts by path. */
  readonly texts: ReadonlyMap<string, () => string>;
  /** Plain texts by path that the index at `/` does not list. */
  readonly unlistedTexts?: ReadonlyMap<string, (query: Query) => string>;
}

interface DebugRequest {
  readonly exchange: Exchange;
  readonly path: string;
  readonly query: Query;
  /** Upper bound of the duration of a CPU profile, in milliseconds. */
  readonly maxProfileMs: number;
}

const defaultProfileSeconds = 30;
const maxFlagBytes = 64;
const index = [
  "/debug/pprof/",
  "",
  "heap     heap statistics in bytes, by space (JSON)",
  "profile  CPU profile for browser developer tools (.cpuprofile); duration in ?seconds=30",
  "",
].join("\n");

export class Debugging {
  private readonly profiler = new Profiler();

  constructor(private readonly options: DebuggingOptions) {}

  /** Paths that the index at `/` lists. */
  get paths(): readonly string[] {
    return [...this.options.texts.keys()];
  }

  /** Responds to a request; false = there is no such path. */
  async serve(request: DebugRequest): Promise<boolean> {
    const { exchange, path, query } = request;
    const { values, texts, unlistedTexts, profiling } = this.options;
    const value = path.startsWith("/debug/") ? values.get(path.slice("/debug/".length)) : undefined;
    if (value !== undefined) {
      sendJson(exchange, printJson(await value(), 2));
      return true;
    }
    const text = texts.get(path);
    if (text !== undefined) {
      sendPlain(exchange, text());
      return true;
    }
    const unlisted = unlistedTexts?.get(path);
    if (unlisted !== undefined) {
      const headers = { "content-type": "text/plain; charset=utf-8" };
      sendResponse(exchange, { status: 200, headers }, unlisted(query));
      return true;
    }
    return profiling && this.serveProfiling(request);
  }

  private async serveProfiling(request: DebugRequest): Promise<boolean> {
    const { exchange, path } = request;
    switch (path) {
      case "/debug/flags/v":
        await this.setVerbosity(exchange);
        return true;
      case "/debug/pprof":
        sendResponse(exchange, { status: 302, headers: { location: "/debug/pprof/" } }, "");
        return true;
      case "/debug/pprof/":
        sendText(exchange, 200, index);
        return true;
      case "/debug/pprof/heap":
        sendJson(exchange, printJson(memoryStatistics(), 2));
        return true;
      case "/debug/pprof/profile":
        await this.sendProfile(request);
        return true;
      default:
        return false;
    }
  }

  /** Sets the log verbosity; the responses are those of kube-apiserver. */
  private async setVerbosity(exchange: Exchange): Promise<void> {
    if (exchange.method !== "PUT") return sendText(exchange, 406, "unsupported http method");
    const text = Buffer.from(await exchange.body(maxFlagBytes)).toString("utf8");
    if (!/^[+-]?\d{1,9}$/.test(text)) {
      const reason = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
      return sendText(exchange, 400, `failed set klog.logging.verbosity ${text}: ${reason}`);
    }
    this.options.logger.level = Number(text);
    sendText(exchange, 200, `successfully set klog.logging.verbosity to ${text}`);
  }

  private async sendProfile({ exchange, query, maxProfileMs }: DebugRequest): Promise<void> {
    const seconds = Number(query.get("seconds") ?? defaultProfileSeconds);
    if (!(seconds > 0) || seconds * 1000 >= maxProfileMs) {
      const message = `seconds must be greater than 0 and less than ${maxProfileMs / 1000}\n`;
      return sendText(exchange, 400, message);
    }
    try {
      const profile = await this.profiler.cpuProfile(seconds * 1000, exchange.signal);
      const headers = {
        "content-type": "application/json",
        "content-disposition": 'attachment; filename="profile.cpuprofile"',
      };
      sendResponse(exchange, { status: 200, headers }, profile);
    } catch (error) {
      if (!(error instanceof ProfilerBusy)) throw exchange.reason ?? error;
      sendText(exchange, 500, `Could not enable CPU profiling: ${error.message}\n`);
    }
  }
}

function sendJson(exchange: Exchange, text: string): void {
  const headers = { "content-type": "application/json" };
  sendResponse(exchange, { status: 200, headers }, `${text}\n`);
}

/** @throws StatusError 406 unless the Accept header matches text/plain */
function sendPlain(exchange: Exchange, text: string): void {
  const clauses = parseAccept(exchange.header("accept") || "*/*");
  if (!clauses.some((clause) => covers(clause, "text/plain")))
    throw notRepresentable(["text/plain"]);
  const headers = { "content-type": "text/plain; charset=utf-8" };
  sendResponse(exchange, { status: 200, headers }, text);
}
