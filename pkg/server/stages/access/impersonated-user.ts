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

/** One part of the impersonated user; the client needs permission for each. */
interface ImpersonatedPart {
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
 * The user of the request: the client, or the user of its `Impersonate-*` headers. Responds 500 and
 * returns undefined if the headers name no user.
 * @throws StatusError 403 unless the client may impersonate each part of that user.
 */
export function actingUser(
  user: User,
  request: ImpersonatingRequest,
  options: ImpersonationOptions,
): Awaitable<User | undefined> {
  const parts = partsOf(request.exchange.headersBelow(prefix));
  return parts.length === 0 ? user : permitted(user, parts, { ...request, ...options });
}

async function permitted(
  user: User,
  parts: readonly ImpersonatedPart[],
  { exchange, path, ...options }: ImpersonatingRequest & ImpersonationOptions,
): Promise<User | undefined> {
  const subject = parts[0]!;
  if (subject.kind !== "User" && subject.kind !== "ServiceAccount") {
    const api = resolve("authentication.{api}/v1", options.domain);
    const references = parts.map((part) => goReference(part, api)).join(" ");
    const message = `requested [${references}] without impersonating a user`;
    sendText(exchange, 500, `Internal Server Error: ${goQuote(path)}: ${message}\n`);
    return undefined;
  }
  for (const part of parts) {
    const request = permissionOf(part, options.domain);
    const { verdict, reason } = await options.authorizer.authorize({
      user,
      request,
      signal: exchange.signal,
    });
    if (verdict !== "allow") throw accessDenied({ user, request }, reason);
  }
  return userOf(subject, parts);
}

/** The parts in the order in which kube-apiserver authorizes them: user, groups, extras, uid. */
function partsOf(headers: ReadonlyMap<string, readonly string[]>): readonly ImpersonatedPart[] {
  if (headers.size === 0) return [];
  const valuesOf = (name: string) => headers.get(`${prefix}${name}`) ?? [];
  const part = (kind: ImpersonatedPart["kind"], name: string, key = ""): ImpersonatedPart => ({
    kind,
    namespace: "",
    name,
    key,
  });
  const [name = ""] = valuesOf("user");
  const [uid = ""] = valuesOf("uid");
  const extras = [...headers].filter(([header]) => header.startsWith(extraPrefix));
  return [
    ...(name === "" ? [] : [accountOf(name) ?? part("User", name)]),
    ...valuesOf("group").map((group) => part("Group", group)),
    ...extras.flatMap(([header, values]) =>
      values.map((value) =>
        part("UserExtra", value, unescapeKey(header.slice(extraPrefix.length))),
      ),
    ),
    ...(uid === "" ? [] : [part("UID", uid)]),
  ];
}

/** The service account of a user name; undefined for other users. */
function accountOf(name: string): ImpersonatedPart | undefined {
  if (!name.startsWith(accountPrefix)) return undefined;
  const [namespace = "", account = "", ...more] = name.slice(accountPrefix.length).split(":");
  if (more.length > 0 || isDns1123Label(namespace).length > 0) return undefined;
  if (isDns1123Subdomain(account).length > 0) return undefined;
  return { kind: "ServiceAccount", namespace, name: account, key: "" };
}

/** The part as Go prints its v1.ObjectReference. */
function goReference({ kind, namespace, name, key }: ImpersonatedPart, api: string): string {
  const version = kind === "UID" || kind === "UserExtra" ? api : "";
  return `{${[kind, namespace, name, "", version, "", key].join(" ")}}`;
}

/** The request with verb `impersonate` that authorizes the part. */
function permissionOf(
  { kind, namespace, name, key }: ImpersonatedPart,
  domain: Domain,
): RequestInfo {
  const authenticationGroup = resolve("authentication.{api}", domain);
  const attributes = {
    User: ["", "users", ""],
    ServiceAccount: ["", "serviceaccounts", ""],
    Group: ["", "groups", ""],
    UserExtra: [authenticationGroup, "userextras", key],
    UID: [authenticationGroup, "uids", ""],
  } as const;
  const [group, resource, subresource] = attributes[kind];
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

function userOf(subject: ImpersonatedPart, parts: readonly ImpersonatedPart[]): User {
  const isAccount = subject.kind === "ServiceAccount";
  const named = parts.filter(({ kind }) => kind === "Group").map(({ name }) => name);
  const implied = isAccount
    ? ["system:serviceaccounts", `system:serviceaccounts:${subject.namespace}`]
    : [];
  const groups = named.length > 0 ? named : implied;
  const common =
    subject.name === "system:anonymous" && !isAccount ? unauthenticated : authenticated;
  const settled = groups.includes(authenticated) || groups.includes(unauthenticated);
  const extra = new Map<string, readonly string[]>();
  for (const { kind, key, name } of parts) {
    if (kind === "UserExtra") extra.set(key, [...(extra.get(key) ?? []), name]);
  }
  return {
    name: isAccount ? `${accountPrefix}${subject.namespace}:${subject.name}` : subject.name,
    uid: parts.find(({ kind }) => kind === "UID")?.name ?? "",
    groups: settled ? groups : [...groups, common],
    extra,
  };
}
