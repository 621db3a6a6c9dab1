import type { Awaitable } from "#base";
import { goQuote, isDns1123Label, isDns1123Subdomain, type Domain, resolve } from "#meta";
import {
  type Authorizer,
  type RequestInfo,
  resourceRequestInfo,
  unescapeKey,
  type User,
} from "#request";
import { sendText } from "../../response/response-writer.ts";
import type { Exchange } from "../../transport/exchange.ts";
import { accessDenied } from "../../response/failures.ts";

const prefix = "impersonate-";
const extraPrefix = `${prefix}extra-`;
const accountPrefix = "system:serviceaccount:";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";

/** One thing that the client wants to be, each with a permission of its own. */
interface Role {
  readonly kind: "User" | "ServiceAccount" | "Group" | "UserExtra" | "UID";
  readonly namespace: string;
  readonly name: string;
  /** Key of an extra. */
  readonly key: string;
}

export interface ImpersonationOptions {
  readonly authorizer: Authorizer;
  readonly domain: Domain;
}

interface ImpersonatingRequest {
  readonly exchange: Exchange;
  readonly path: string;
}

/**
 * Who the client acts as: itself, or whom its `Impersonate-*` headers name. Undefined when the
 * request has been answered because the headers make no sense.
 * @throws StatusError 403 unless the client may be each part of that user.
 */
export function actingUser(
  user: User,
  request: ImpersonatingRequest,
  options: ImpersonationOptions,
): Awaitable<User | undefined> {
  const roles = rolesOf(request.exchange.headersBelow(prefix));
  return roles.length === 0 ? user : permitted(user, roles, { ...request, ...options });
}

async function permitted(
  user: User,
  roles: readonly Role[],
  { exchange, path, ...options }: ImpersonatingRequest & ImpersonationOptions,
): Promise<User | undefined> {
  const who = roles[0]!;
  if (who.kind !== "User" && who.kind !== "ServiceAccount") {
    const api = resolve("authentication.{api}/v1", options.domain);
    const shown = roles.map((role) => shownRole(role, api)).join(" ");
    const story = `requested [${shown}] without impersonating a user`;
    sendText(exchange, 500, `Internal Server Error: ${goQuote(path)}: ${story}\n`);
    return undefined;
  }
  for (const role of roles) {
    const request = permissionOf(role, options.domain);
    const { verdict, reason } = await options.authorizer.authorize({ user, request });
    if (verdict !== "allow") throw accessDenied({ user, request }, reason);
  }
  return userOf(who, roles);
}

/** The user first, then groups, extras and the uid, as Kubernetes takes them. */
function rolesOf(headers: ReadonlyMap<string, readonly string[]>): readonly Role[] {
  if (headers.size === 0) return [];
  const valuesOf = (name: string) => headers.get(`${prefix}${name}`) ?? [];
  const role = (kind: Role["kind"], name: string, key = ""): Role => ({
    kind,
    namespace: "",
    name,
    key,
  });
  const [name = ""] = valuesOf("user");
  const [uid = ""] = valuesOf("uid");
  const extras = [...headers].filter(([header]) => header.startsWith(extraPrefix));
  return [
    ...(name === "" ? [] : [accountOf(name) ?? role("User", name)]),
    ...valuesOf("group").map((group) => role("Group", group)),
    ...extras.flatMap(([header, values]) =>
      values.map((value) =>
        role("UserExtra", value, unescapeKey(header.slice(extraPrefix.length))),
      ),
    ),
    ...(uid === "" ? [] : [role("UID", uid)]),
  ];
}

/** A user name that is a service account's. */
function accountOf(name: string): Role | undefined {
  if (!name.startsWith(accountPrefix)) return undefined;
  const [namespace = "", account = "", ...more] = name.slice(accountPrefix.length).split(":");
  if (more.length > 0 || isDns1123Label(namespace).length > 0) return undefined;
  if (isDns1123Subdomain(account).length > 0) return undefined;
  return { kind: "ServiceAccount", namespace, name: account, key: "" };
}

/** As Go prints the object reference that stands for it. */
function shownRole({ kind, namespace, name, key }: Role, api: string): string {
  const version = kind === "UID" || kind === "UserExtra" ? api : "";
  return `{${[kind, namespace, name, "", version, "", key].join(" ")}}`;
}

function permissionOf({ kind, namespace, name, key }: Role, domain: Domain): RequestInfo {
  const own = resolve("authentication.{api}", domain);
  const places = {
    User: ["", "users", ""],
    ServiceAccount: ["", "serviceaccounts", ""],
    Group: ["", "groups", ""],
    UserExtra: [own, "userextras", key],
    UID: [own, "uids", ""],
  } as const;
  const [group, resource, subresource] = places[kind];
  const verb = "impersonate";
  return resourceRequestInfo({
    verb,
    group,
    version: "v1",
    namespace,
    resource,
    subresource,
    name,
  });
}

function userOf(who: Role, roles: readonly Role[]): User {
  const isAccount = who.kind === "ServiceAccount";
  const named = roles.filter(({ kind }) => kind === "Group").map(({ name }) => name);
  const implied = isAccount
    ? ["system:serviceaccounts", `system:serviceaccounts:${who.namespace}`]
    : [];
  const groups = named.length > 0 ? named : implied;
  const common = who.name === "system:anonymous" && !isAccount ? unauthenticated : authenticated;
  const settled = groups.includes(authenticated) || groups.includes(unauthenticated);
  const extra = new Map<string, readonly string[]>();
  for (const { kind, key, name } of roles) {
    if (kind === "UserExtra") extra.set(key, [...(extra.get(key) ?? []), name]);
  }
  return {
    name: isAccount ? `${accountPrefix}${who.namespace}:${who.name}` : who.name,
    uid: roles.find(({ kind }) => kind === "UID")?.name ?? "",
    groups: settled ? groups : [...groups, common],
    extra,
  };
}
