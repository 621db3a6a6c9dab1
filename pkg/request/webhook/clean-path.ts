import { posix } from "node:path";

/**
 * The path in client-go's form: one leading slash, no empty or dot segments, no trailing slash,
 * percent-encoded as in Go's `URL.EscapedPath`.
 * @param path decoded
 */
export function cleanPath(path: string): string {
  const joined = posix.join("/", path);
  return escapePath(joined.length > 1 ? joined.replace(/\/$/, "") : joined);
}

/** Percent-encodes a decoded path as Go's `URL.EscapedPath` does. */
export function escapePath(path: string): string {
  return encodeURIComponent(path.toWellFormed())
    .replace(/%2[46BCF]|%3[ABD]|%40/g, decodeURIComponent)
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The URL with `cleanPath` applied. */
export function withCleanPath(url: URL): URL {
  const clean = new URL(url);
  clean.pathname = cleanPath(decodePath(url.pathname));
  return clean;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A malformed escape, which validation accepts in service paths only.
    return path;
  }
}
