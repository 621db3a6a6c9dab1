import { withAuthenticatedGroup } from "../authenticated-group.ts";
import type { TokenAuthenticator, TokenIdentity } from "./token-authenticator.ts";

/**
 * Users by bearer token, from a CSV file of `token,user,uid,"group1,group2"` lines (`--token-auth-
 * file`).
 */
export class TokenFileAuthenticator implements TokenAuthenticator {
  /**
   * By token, as in kube-apiserver. A map compares a guess with a stored token only if their hashes
   * are equal, which an attacker cannot arrange, since V8 seeds its hashes per process. The lookup
   * time therefore does not reveal how much of a guessed token is correct.
   */
  private readonly owners: ReadonlyMap<string, TokenIdentity>;

  /** @throws Error naming the line that is malformed. */
  constructor(csv: string) {
    this.owners = new Map(parseCsv(csv).map((record, index) => tokenOwner(record, index + 1)));
  }

  authenticateToken(token: string): TokenIdentity | undefined {
    return this.owners.get(token);
  }
}

function tokenOwner(record: readonly string[], line: number): readonly [string, TokenIdentity] {
  const [token, name, uid, groups] = record;
  if (!token || !name || uid === undefined) {
    throw new Error(`line ${line} of the token file needs a token, a user name and a uid`);
  }
  const listed = (groups ?? "")
    .split(",")
    .map((group) => group.trim())
    .filter(Boolean);
  const user = withAuthenticatedGroup({ name, uid, groups: listed, extra: new Map() });
  return [token, { user }];
}

/** Records of RFC 4180; blank lines are skipped. */
function parseCsv(text: string): string[][] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .map((line) =>
      [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? (bare ?? "").trim(),
      ),
    );
}
