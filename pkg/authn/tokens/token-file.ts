import { withAuthenticatedGroup } from "../authenticated-group.ts";
import type { TokenAuthenticator, TokenIdentity } from "./token-authenticator.ts";

/** Static token authenticator: CSV file of `token,user,uid,"group1,group2"` lines (`--token-auth-file`). */
export class TokenFileAuthenticator implements TokenAuthenticator {
  /**
   * Users by token. A Map compares a guess with a stored token only if their hashes are equal, which an
   * attacker cannot achieve, since V8 seeds hashes per process. So the lookup time does not reveal a
   * matching prefix.
   */
  private readonly identities: ReadonlyMap<string, TokenIdentity>;

  /** @throws Error with the number of the malformed line */
  constructor(csv: string) {
    this.identities = new Map(
      csv.split(/\r?\n/).flatMap((line, index) => {
        if (line.trim() === "") return [];
        return [tokenIdentity(fieldsOf(line), index + 1)];
      }),
    );
  }

  authenticateToken(token: string): TokenIdentity | undefined {
    return this.identities.get(token);
  }
}

/** Token and user of a record; `line` is its number in the file, for the error. */
function tokenIdentity(record: readonly string[], line: number): readonly [string, TokenIdentity] {
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

/** Parses an RFC 4180 record of one line. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? (bare ?? "").trim(),
  );
}
