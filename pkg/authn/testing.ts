/** Credentials for tests. */
import type { Credentials, PeerCertificate } from "#request";

/** Credentials of a request; everything absent = none. */
export interface Sent {
  readonly authorization?: readonly string[];
  readonly certificate?: PeerCertificate;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly path?: string;
}

export function sent({
  authorization = [],
  certificate,
  headers = {},
  path = "/",
}: Sent): Credentials {
  return {
    authorization,
    certificate,
    path,
    headersBelow: (prefix) =>
      new Map(
        Object.entries(headers)
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, values]) => [name, [values].flat()]),
      ),
  };
}
