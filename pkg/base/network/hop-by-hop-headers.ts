/** Headers that a proxy does not pass on, as they belong to one connection (RFC 9110, section 7.6.1). */
export const hopByHopHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Lower-case options of a Connection header, which also name further headers that are hop-by-hop. */
export function connectionOptions(
  value: string | readonly string[] | undefined = "",
): ReadonlySet<string> {
  const options = [value].flat().join(",").split(",");
  return new Set(options.map((option) => option.trim().toLowerCase()));
}
