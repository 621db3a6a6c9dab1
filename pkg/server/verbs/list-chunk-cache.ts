import { type CacheBudget, type Evictable, memoize, ownBytes } from "#base";
import type { Item } from "#registry";
import { delimitedSize, writeDelimited } from "#schema";
import { joined } from "../response/response-writer.ts";
import { itemJson, itemMessage, listItemsField } from "../response/encode.ts";

/** Limit of a cached chunk in stored bytes. Copying larger objects is cheap per byte. */
const maxBytes = 128 * 1024;

/**
 * The joined encoding of adjacent items of a list, valid until one of them changes. The second list that
 * contains the items creates it, so that a large list is written as a few large buffers instead of many
 * small copies.
 */
class ListChunk implements Evictable {
  bytes: Uint8Array | undefined = undefined;
  private wasListed = false;
  private readonly isCacheable: boolean;

  constructor(items: readonly Item[]) {
    this.isCacheable = items.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) <= maxBytes;
  }

  evict(): void {
    this.bytes = undefined;
  }

  /** Undefined on the first use, and for chunks that are too large to cache. */
  joined(budget: CacheBudget, join: () => Uint8Array): Uint8Array | undefined {
    if (this.bytes === undefined && this.wasListed && this.isCacheable) {
      this.bytes = ownBytes(join());
      budget.add(this, this.bytes.byteLength);
    }
    this.wasListed = true;
    return this.bytes;
  }
}

/** Budgets of the cached encodings: of single items and of list chunks. */
export interface EncodingCaches {
  readonly messages: CacheBudget;
  readonly listChunks: CacheBudget;
}

const jsonChunk = memoize((items: readonly Item[]) => new ListChunk(items));
const protobufChunk = memoize((items: readonly Item[]) => new ListChunk(items));

/** The members of a JSON list, each preceded by a comma; undefined if they are not cached. */
export function joinedMembers(
  items: readonly Item[],
  { listChunks }: EncodingCaches,
): Uint8Array | undefined {
  return jsonChunk(items).joined(listChunks, () => {
    const pieces = items.flatMap((item) => [",", ...itemJson(item, true)]);
    const sizes = pieces.map((piece) => Buffer.byteLength(piece));
    return joined(
      pieces,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  });
}

/** The items of a Protobuf list, each with its tag; undefined if they are not cached. */
export function joinedMessages(
  items: readonly Item[],
  { listChunks, messages }: EncodingCaches,
): Uint8Array | undefined {
  return protobufChunk(items).joined(listChunks, () => {
    const all = items.map((item) => itemMessage(item, messages));
    const size = all.reduce((sum, { byteLength }) => sum + delimitedSize(byteLength), 0);
    const bytes = Buffer.allocUnsafeSlow(size);
    let at = 0;
    for (const message of all) at = writeDelimited(bytes, at, listItemsField, message);
    return bytes;
  });
}

/** Length of `joinedMessages` if they are cached already. */
export function cachedMessagesBytes(items: readonly Item[]): number | undefined {
  return protobufChunk(items).bytes?.byteLength;
}
