/** Parser of PEM (RFC 7468). */

export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`… */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Uint8Array;
  /** The block from its BEGIN to its END line. */
  readonly text: string;
}

const boundary = /^-----(BEGIN|END) ([^-\r\n]*)-----[ \t]*$/gm;

/**
 * The PEM blocks in order; text between them is ignored. Each END line closes the last BEGIN line
 * before it. Linear in the number of lines.
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let begin: { readonly type: string; readonly at: number; readonly body: number } | undefined;
  for (const { 0: line, 1: edge, 2: type = "", index } of text.matchAll(boundary)) {
    const after = index + line.length;
    if (edge === "BEGIN") begin = { type, at: index, body: after };
    else {
      if (begin?.type === type) {
        const block = blockOf(type, text.slice(begin.body, index), text.slice(begin.at, after));
        if (block !== undefined) blocks.push(block);
      }
      begin = undefined;
    }
  }
  return blocks;
}

/** Decodes a block; undefined if the body is not base64. */
function blockOf(type: string, body: string, text: string): PemBlock | undefined {
  const hasHeaders = body.includes(":");
  const blank = /\r?\n\r?\n/.exec(body);
  const data = hasHeaders && blank ? body.slice(blank.index + blank[0].length) : body;
  const base64 = data.replace(/\s/g, "");
  if (!hasHeaders && !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  return { type, hasHeaders, bytes: Buffer.from(base64, "base64"), text };
}
