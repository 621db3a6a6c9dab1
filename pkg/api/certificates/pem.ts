/** Texts with certificates and the like (RFC 7468). */

export interface PemBlock {
  /** `CERTIFICATE`, `CERTIFICATE REQUEST`… */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Uint8Array;
  /** The block itself, from BEGIN to END. */
  readonly text: string;
}

const form = /^-----BEGIN ([^-\r\n]*)-----[ \t]*\r?\n([^]*?)^-----END \1-----[ \t]*$/gm;

/** The blocks of a text, in order; what stands between them does not count. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(form)].flatMap(([whole, type = "", body = ""]) => {
    const hasHeaders = body.includes(":");
    const blank = /\r?\n\r?\n/.exec(body);
    const data = hasHeaders && blank ? body.slice(blank.index + blank[0].length) : body;
    const base64 = data.replace(/\s/g, "");
    if (!hasHeaders && !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return [];
    return [{ type, hasHeaders, bytes: Buffer.from(base64, "base64"), text: whole }];
  });
}
