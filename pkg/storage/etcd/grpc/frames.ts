import { GrpcError, grpcStatus } from "./failures.ts";

/** Before each message: one byte that says whether it is compressed, four for its length. */
const prefixBytes = 5;

/** A message as gRPC frames it. */
export function frameOf(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** The message of an answer that has one, from the pieces in which it came. */
export function onlyMessage(chunks: readonly Buffer[]): Buffer {
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (lengthOf(bytes) !== bytes.length - prefixBytes) throw damaged("one message");
  return bytes.subarray(prefixBytes);
}

/** Finds messages in the pieces in which a stream comes. */
export class Frames {
  /** The begin of a message; joined only when the message is complete. */
  #chunks: Buffer[] = [];
  #size = 0;
  /** Nothing more is complete before there are so many bytes. */
  #wanted = prefixBytes;

  /** The messages that are complete now. */
  take(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return [];
    const messages: Buffer[] = [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#wanted = wantedFor(rest);
    while (rest.length >= this.#wanted) {
      messages.push(rest.subarray(prefixBytes, this.#wanted));
      rest = rest.subarray(this.#wanted);
      this.#wanted = wantedFor(rest);
    }
    this.#chunks = [rest];
    this.#size = rest.length;
    return messages;
  }
}

/** How many bytes there are when the message with which they begin is complete, as far as known. */
function wantedFor(bytes: Buffer): number {
  return bytes.length < prefixBytes ? prefixBytes : prefixBytes + lengthOf(bytes);
}

function lengthOf(bytes: Buffer): number {
  if (bytes.length < prefixBytes) throw damaged("a whole message");
  if (bytes[0] !== 0) throw damaged("a plain message");
  return bytes.readUInt32BE(1);
}

function damaged(wanted: string): GrpcError {
  return new GrpcError(grpcStatus.internal, `The answer is not ${wanted}`);
}
