import { GrpcError, grpcStatus } from "./failures.ts";

/** Length of the prefix of a message: compressed flag (1 byte), message length (4). */
const prefixBytes = 5;

/** The length-prefixed message of gRPC. */
export function frameOf(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** The message of a unary response. */
export function onlyMessage(chunks: readonly Buffer[]): Buffer {
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (lengthOf(bytes) !== bytes.length - prefixBytes) throw damaged("one message");
  return bytes.subarray(prefixBytes);
}

/** Splits the chunks of a stream into messages. */
export class Frames {
  /** Chunks of an incomplete message, joined when it is complete. */
  #chunks: Buffer[] = [];
  #size = 0;
  /** Number of bytes at which the next message, or its prefix, is complete. */
  #wanted = prefixBytes;

  /** Adds a chunk; returns the messages that it completes. */
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

/** Number of bytes of the first message, or of its prefix if that is incomplete. */
function wantedFor(bytes: Buffer): number {
  return bytes.length < prefixBytes ? prefixBytes : prefixBytes + lengthOf(bytes);
}

function lengthOf(bytes: Buffer): number {
  if (bytes.length < prefixBytes) throw damaged("a whole message");
  if (bytes[0] !== 0) throw damaged("a plain message");
  return bytes.readUInt32BE(1);
}

function damaged(wanted: string): GrpcError {
  return new GrpcError(grpcStatus.internal, `The response is not ${wanted}`);
}
