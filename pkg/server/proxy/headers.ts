/** Headers by lower-case name from a list of alternating names and values, except dropped ones. */
export function collectHeaders(
  raw: readonly string[],
  isDropped: (name: string) => boolean,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]!.toLowerCase();
    if (isDropped(name)) continue;
    const values = headers[name];
    headers[name] = values === undefined ? raw[index + 1]! : [values, raw[index + 1]!].flat();
  }
  return headers;
}
