import { type CacheBudget, type Evictable, memoize, ownBytes } from "#base";
import type { Item } from "#registry";
import { delimitedSize, writeDelimited } from "#schema";
import { joined } from "../response/response-writer.ts";
import { itemJson, itemMessage, LIST_ITEMS_FIELD } from "../response/encode.ts";

/** Stored bytes of the longest run that is joined: copying larger objects costs little beside. */
const LONGEST = 128 * 1024;

/**
 * Items that follow each other in one list after the other, as long as none of them changes. When
 * they come for the second time their encodings are joined and kept, so that a large list is a few
 * pieces that leave as they are, not many that are copied together each time.
 */
class Run implements Evictable {
  bytes: Uint8Array | undefined = undefined;
  private isKnown = false;
  private readonly isShort: boolean;

  constructor(items: readonly Item[]) {
    this.isShort = items.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) <= LONGEST;
  }

  evict(): void {
    this.bytes = undefined;
  }

  /** undefined when it comes for the first time, or is too long. */
  joined(keeper: CacheBudget, join: () => Uint8Array): Uint8Array | undefined {
    if (this.bytes === undefined && this.isKnown && this.isShort) {
      this.bytes = ownBytes(join());
      keeper.add(this, this.bytes.byteLength);
    }
    this.isKnown = true;
    return this.bytes;
  }
}

/** Where encodings are kept: of single items, and of runs of them. */
export interface Keepers {
  readonly messages: CacheBudget;
  readonly runs: CacheBudget;
}

const jsonRun = memoize((items: readonly Item[]) => new Run(items));
const messageRun = memoize((items: readonly Item[]) => new Run(items));

/** The members of a JSON list, each behind a comma; undefined where they are not joined. */
export function joinedMembers(items: readonly Item[], { runs }: Keepers): Uint8Array | undefined {
  return jsonRun(items).joined(runs, () => {
    const pieces = items.flatMap((item) => [",", ...itemJson(item, true)]);
    const sizes = pieces.map((piece) => Buffer.byteLength(piece));
    return joined(
      pieces,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  });
}

/** The items of a Protobuf list, each with its tag; undefined where they are not joined. */
export function joinedMessages(
  items: readonly Item[],
  { runs, messages }: Keepers,
): Uint8Array | undefined {
  return messageRun(items).joined(runs, () => {
    const all = items.map((item) => itemMessage(item, messages));
    const size = all.reduce((sum, { byteLength }) => sum + delimitedSize(byteLength), 0);
    const bytes = Buffer.allocUnsafeSlow(size);
    let at = 0;
    for (const message of all) at = writeDelimited(bytes, at, LIST_ITEMS_FIELD, message);
    return bytes;
  });
}

/** As `joinedMessages`, but for what is joined already. */
export function keptMessages(items: readonly Item[]): Uint8Array | undefined {
  return messageRun(items).bytes;
}
