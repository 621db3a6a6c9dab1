/** Debugging endpoints, for users who are authorized for their paths. */
import type { AdjustableLogger } from "#base";
import type { Query } from "#request";
import { sendResponse, sendText } from "../response/response-writer.ts";
import type { Exchange } from "../transport/exchange.ts";
import { notRepresentable } from "../response/failures.ts";
import { covers, parseAccept } from "../response/negotiation.ts";
import { memoryStatistics, Profiler, ProfilerBusy } from "./profiling.ts";

export interface DebuggingOptions {
  /** Logger whose verbosity `PUT /debug/flags/v` sets. */
  readonly logger: AdjustableLogger;
  /** Whether there is `/debug/pprof/` and `/debug/flags/v`. */
  readonly profiling: boolean;
  /** What is shown as JSON, by path below `/debug/`. */
  readonly values: ReadonlyMap<string, () => object | Promise<object>>;
  /** Plain texts, by path. */
  readonly texts: ReadonlyMap<string, () => string>;
  /** Plain texts that the index of paths does not list, by path. */
  readonly unlistedTexts?: ReadonlyMap<string, (query: Query) => string>;
}

interface Asked {
  readonly exchange: Exchange;
  readonly path: string;
  readonly query: Query;
  /** No profile takes longer, in milliseconds. */
  readonly limit: number;
}

const usualSeconds = 30;
const longestFlag = 64;
const index = [
  "/debug/pprof/",
  "",
  "heap     bytes in use, by space",
  "profile  where time is spent: ?seconds=30; for the profiling tools of browsers",
  "",
].join("\n");

export class Debugging {
  private readonly profiler = new Profiler();

  constructor(private readonly options: DebuggingOptions) {}

  /** Those that are not below `/debug/`. */
  get paths(): readonly string[] {
    return [...this.options.texts.keys()];
  }

  /** False when there is no such path. */
  async serve(asked: Asked): Promise<boolean> {
    const { exchange, path, query } = asked;
    const { values, texts, unlistedTexts, profiling } = this.options;
    const value = path.startsWith("/debug/") ? values.get(path.slice("/debug/".length)) : undefined;
    if (value !== undefined) {
      sendJson(exchange, JSON.stringify(await value(), undefined, 2));
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
    return profiling && this.sendMeasured(asked);
  }

  private async sendMeasured(asked: Asked): Promise<boolean> {
    const { exchange, path } = asked;
    switch (path) {
      case "/debug/flags/v":
        await this.setDetail(exchange);
        return true;
      case "/debug/pprof":
        sendResponse(exchange, { status: 302, headers: { location: "/debug/pprof/" } }, "");
        return true;
      case "/debug/pprof/":
        sendText(exchange, 200, index);
        return true;
      case "/debug/pprof/heap":
        sendJson(exchange, JSON.stringify(memoryStatistics(), undefined, 2));
        return true;
      case "/debug/pprof/profile":
        await this.sendProfile(asked);
        return true;
      default:
        return false;
    }
  }

  /** The texts are those of kube-apiserver. */
  private async setDetail(exchange: Exchange): Promise<void> {
    if (exchange.method !== "PUT") return sendText(exchange, 406, "unsupported http method");
    const text = Buffer.from(await exchange.body(longestFlag)).toString("utf8");
    if (!/^[+-]?\d{1,9}$/.test(text)) {
      const why = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
      const story = `failed set klog.logging.verbosity ${text}: ${why}`;
      return sendText(exchange, 400, story);
    }
    this.options.logger.level = Number(text);
    sendText(exchange, 200, `successfully set klog.logging.verbosity to ${text}`);
  }

  private async sendProfile({ exchange, query, limit }: Asked): Promise<void> {
    const seconds = Number(query.get("seconds") ?? usualSeconds);
    if (!(seconds > 0) || seconds * 1000 >= limit) {
      const story = `seconds must be more than 0 and less than ${limit / 1000}\n`;
      return sendText(exchange, 400, story);
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

/** @throws StatusError 406 unless the Accept header takes plain text. */
function sendPlain(exchange: Exchange, text: string): void {
  const clauses = parseAccept(exchange.header("accept") || "*/*");
  if (!clauses.some((clause) => covers(clause, "text/plain")))
    throw notRepresentable(["text/plain"]);
  const headers = { "content-type": "text/plain; charset=utf-8" };
  sendResponse(exchange, { status: 200, headers }, text);
}
