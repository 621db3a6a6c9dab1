/** Header blocks of SPDY/3.1: names and values, compressed by one zlib stream per direction. */
import { constants, createInflate, type Inflate } from "node:zlib";

/** Length-prefixed words at the start of the dictionary. */
const words =
  "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges " +
  "age allow authorization cache-control connection content-base content-encoding content-language " +
  "content-length content-location content-md5 content-range content-type date etag expect expires from " +
  "host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location " +
  "max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer " +
  "transfer-encoding upgrade user-agent vary via warning www-authenticate method get status";
const moreWords = "version HTTP/1.1 url public set-cookie keep-alive origin";
const rest =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized" +
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable" +
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT" +
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain," +
  "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** zlib dictionary of header blocks (section 2.6.10.1 of the SPDY/3.1 draft). */
export const dictionary = Buffer.concat([
  ...[...words.split(" "), "200 OK", ...moreWords.split(" ")].map(withLength),
  Buffer.from(rest),
]);

/** Maximum size of a decompressed header block in bytes. */
const maxBlockBytes = 16_384;

/** Decompresses the header blocks of one direction. */
export class HeaderReader {
  private readonly inflate: Inflate = createInflate({
    dictionary,
    flush: constants.Z_SYNC_FLUSH,
  });
  private failure: Error | undefined;

  constructor() {
    this.inflate.on("error", (error) => (this.failure = error));
  }

  /** @throws Error if a block is malformed or too large */
  async read(block: Uint8Array): Promise<ReadonlyMap<string, string>> {
    const { inflate } = this;
    const parts: Buffer[] = [];
    let bytes = 0;
    const collect = (data: Buffer) => {
      bytes += data.length;
      // Decompression bomb: drop the output.
      if (bytes > maxBlockBytes) inflate.destroy(new Error("header block is too long"));
      else parts.push(data);
    };
    inflate.on("data", collect);
    await new Promise<void>((resolve) => {
      const done = () => {
        inflate.off("close", done);
        resolve();
      };
      inflate.once("close", done);
      inflate.write(block, () => setImmediate(done));
    });
    inflate.off("data", collect);
    if (this.failure !== undefined || inflate.destroyed) {
      throw this.failure ?? new Error("header block is malformed");
    }
    return pairsOf(Buffer.concat(parts));
  }

  close(): void {
    this.inflate.destroy();
  }
}

function pairsOf(block: Buffer): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  let at = 0;
  const number = () => {
    const value = block.readUInt32BE(at);
    at += 4;
    return value;
  };
  const text = () => {
    const length = number();
    if (length > block.length - at) throw new RangeError("header block is cut off");
    at += length;
    return block.subarray(at - length, at).toString();
  };
  for (let left = number(); left > 0; left--) {
    const name = text();
    // Multiple values of a name are separated by a zero byte.
    const [value = ""] = text().split("\0");
    pairs.set(name.toLowerCase(), value);
  }
  return pairs;
}

/** An empty header block as stored zlib block; the first one also starts the zlib stream. */
export function emptyHeaderBlock(isFirst: boolean): Buffer {
  const count = uint32(0);
  const data = [0, count.length, 0, ~count.length & 0xff, 0xff, ...count];
  // A trailing empty block (sync flush) makes readers deliver their output.
  const stored = Buffer.from([...data, 0, 0, 0, 0xff, 0xff]);
  return isFirst ? Buffer.concat([Buffer.of(0x78, 0x01), stored]) : stored;
}
