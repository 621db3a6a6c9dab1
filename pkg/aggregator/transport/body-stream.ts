import { Readable } from "node:stream";
import { BackendError } from "../contract.ts";

interface BodySource {
  readonly source: Readable;
  /** Whether a body that has ended is complete. */
  readonly isWhole: () => boolean;
  /** Its reason is why the body was cut short, if it has aborted. */
  readonly signal: AbortSignal;
}

const bufferBytes = 64 * 1024;

/**
 * Body of a response, which is read from the backend as fast as it is consumed. It fails where the
 * backend cuts it short, and destroying it aborts the exchange.
 */
export function bodyStream({ source, isWhole, signal }: BodySource): Readable {
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
