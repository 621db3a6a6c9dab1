import { textWithin } from "#base";
import { ConnectionError } from "./transport.ts";

/** No server is trusted with more memory than that for one answer, or one event of a watch. */
const longestAnswer = 256 * 1024 * 1024;

export async function wholeBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const text = await textWithin(body, longestAnswer);
  if (text !== undefined) return text;
  throw new ConnectionError("the answer is too long", false);
}

const newline = 0x0a;

/** The lines of a body, however it is cut into chunks; a part of a line at the end is dropped. */
export async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...begun, chunk.subarray(start, end)]).toString("utf8");
      begun = [];
      length = 0;
      start = end + 1;
      if (line.trim() !== "") yield line;
    }
    const rest = chunk.subarray(start);
    length += rest.byteLength;
    if (length > longestAnswer) throw new ConnectionError("a line is too long", false);
    if (rest.byteLength > 0) begun.push(rest);
  }
}
