import { textWithin } from "#base";
import { ConnectionError } from "./transport.ts";

/** Size limit of a response, or of one watch event. */
const maxResponseBytes = 256 * 1024 * 1024;

export async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const text = await textWithin(body, maxResponseBytes);
  if (text !== undefined) return text;
  throw new ConnectionError("the response is too large", false);
}

const newline = 0x0a;

/** Splits a body into lines; an incomplete line at the end is dropped. */
export async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let partialLine: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...partialLine, chunk.subarray(start, end)]).toString("utf8");
      partialLine = [];
      length = 0;
      start = end + 1;
      if (line.trim() !== "") yield line;
    }
    const rest = chunk.subarray(start);
    length += rest.byteLength;
    if (length > maxResponseBytes) throw new ConnectionError("a line is too long", false);
    if (rest.byteLength > 0) partialLine.push(rest);
  }
}
