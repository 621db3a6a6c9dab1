import type { Backend, OnLoss } from "./backend.ts";
import { type AuditEvent, eventJson, eventLine } from "./event.ts";

/** Destination of log lines: a file or a stream. */
export interface LineSink {
  /** Resolves when the newline-terminated lines are written. */
  append(lines: Buffer): Promise<void>;
  close(): Promise<void>;
}

export interface LogOptions {
  readonly format: "json" | "legacy";
  readonly apiVersion: string;
  readonly onLoss: OnLoss;
}

/** Log backend: writes one line per event. */
export class LogBackend implements Backend {
  constructor(
    private readonly sink: LineSink,
    private readonly options: LogOptions,
  ) {}

  async write(events: readonly AuditEvent[]): Promise<void> {
    const { format, apiVersion, onLoss } = this.options;
    const lines = events.map((event) =>
      format === "json" ? eventJson(event, apiVersion) : eventLine(event),
    );
    try {
      await this.sink.append(Buffer.from(`${lines.join("\n")}\n`, "utf8"));
    } catch (error) {
      onLoss("log", error, events.length);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.sink.close();
  }
}

/** Sink of a stream, e.g. standard output, which is never closed. */
export function streamSink(stream: NodeJS.WritableStream): LineSink {
  // The write callback gets the error; without a listener it would end the process.
  stream.on("error", () => undefined);
  return {
    append: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines, (error) => (error ? reject(error) : resolve()));
      }),
    close: async () => undefined,
  };
}
