import { Readable } from "node:stream";
import { BackendError } from "../contract.ts";

interface BodySource {
  readonly source: Readable;
  /** Called at the end of `source`: whether the body is complete. */
  readonly isComplete: () => boolean;
  /** If aborted, its reason is the error of a truncated body. */
  readonly signal: AbortSignal;
}

const bufferBytes = 64 * 1024;

/**
 * Body of a response, with backpressure to the backend. A truncated body is an error; destroying the
 * stream aborts the exchange.
 */
export function bodyStream({ source, isComplete: isWhole, signal }: BodySource): Readable {
  let hasEnded = false;
  const body = new Readable({
    highWaterMark: bufferBytes,
    read: () => void source.resume(),
    destroy: (error, done) => {
      source.destroy();
      done(error);
    },
  });
  const fail = (message: string) => {
    if (hasEnded) return;
    hasEnded = true;
    const { aborted, reason } = signal;
    body.destroy(aborted ? (reason as Error) : new BackendError("unreachable", message));
  };
  source.on("data", (chunk: Uint8Array) => {
    if (!body.push(chunk)) source.pause();
  });
  source.once("end", () => {
    if (!isWhole()) return fail("unexpected EOF");
    hasEnded = true;
    body.push(null);
  });
  source.on("error", (error: Error) => fail(error.message));
  source.once("close", () => fail("unexpected EOF"));
  source.pause();
  return body;
}
