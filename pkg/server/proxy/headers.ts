/** Collects alternating names and values by lower-case name, without those that `isDropped` selects. */
export function collectHeaders(
  raw: readonly string[],
  isDropped: (name: string) => boolean,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    if (isDropped(name)) continue;
    const before = headers[name];
    headers[name] = before === undefined ? raw[at + 1]! : [before, raw[at + 1]!].flat();
  }
  return headers;
}
