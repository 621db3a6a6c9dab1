import { hash } from "node:crypto";
import type { User } from "#request";
import type { TokenAuthenticator, TokenOwner } from "./token.ts";

/**
 * Users by bearer token, from a CSV file of `token,user,uid,"group1,group2"` lines (`--token-auth-
 * file`).
 */
export class TokenFile implements TokenAuthenticator {
  private readonly users: ReadonlyMap<string, User>;

  /** @throws Error naming the line that is malformed. */
  constructor(csv: string) {
    this.users = new Map(parseCsv(csv).map((record, index) => tokenUser(record, index + 1)));
  }

  owner(token: string): TokenOwner | undefined {
    const user = this.users.get(digest(token));
    return user && { user };
  }
}

/** Looking up a digest takes the same time however much of a guessed token is right. */
function digest(token: string): string {
  return hash("sha256", token, "base64");
}

function tokenUser(record: readonly string[], line: number): readonly [string, User] {
  const [token, name, uid, groups] = record;
  if (!token || !name || uid === undefined) {
    throw new Error(`line ${line} of the token file needs a token, a user name and a uid`);
  }
  const listed = (groups ?? "")
    .split(",")
    .map((group) => group.trim())
    .filter(Boolean);
  const user = { name, uid, groups: listed, extra: new Map() };
  return [digest(token), user];
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
