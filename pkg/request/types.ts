/** The words of a request; authorization and dispatch read the same parsed RequestInfo. */
import type { X509Certificate } from "node:crypto";
import type { Awaitable } from "#base";

export interface RequestInfo {
  /** True below `/api/<version>/` and `/apis/<group>/<version>/` when a resource is named. */
  readonly isResource: boolean;
  /** Decoded path, as non-resource rules see it. */
  readonly path: string;
  /**
   * get, list, watch, create, update, patch, delete, deletecollection, proxy; lower-case HTTP
   * method for non-resources.
   */
  readonly verb: string;
  /** "api" or "apis". */
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path parts after the resource's name and subresource (for proxies). */
  readonly rest: readonly string[];
}

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
  /** Annotations for the record of this user's requests. */
  readonly remarks?: ReadonlyMap<string, string>;
}

/** What a client showed of itself in the TLS handshake: one object for all its requests. */
export interface PeerCertificate {
  /** Its own first, then those that it sent along. */
  readonly chain: readonly X509Certificate[];
  /** Whether the TLS layer found a path to any authority that the server listens with. */
  readonly isVerified: boolean;
}

/** What authenticators look at. Header values are as sent, names in lower case. */
export interface Credentials {
  readonly authorization: readonly string[];
  readonly certificate: PeerCertificate | undefined;
  /** The values of each header whose name has the prefix. */
  readonly headersBelow: (prefix: string) => ReadonlyMap<string, readonly string[]>;
  /** Decoded path of the request. */
  readonly path: string;
}

/** undefined = no opinion; throws when a credential was given and is wrong. */
export interface Authenticator {
  authenticate(credentials: Credentials): Awaitable<User | undefined>;
}

/** One term of a selector that narrows a request. */
export interface SelectorTerm {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

export interface AuthorizationAttributes {
  readonly user: User;
  readonly request: RequestInfo;
  /** What a list or watch is narrowed to; absent = unrestricted. */
  readonly fieldTerms?: readonly SelectorTerm[];
  readonly labelTerms?: readonly SelectorTerm[];
}

export interface Decision {
  readonly verdict: "allow" | "deny" | "no-opinion";
  readonly reason: string;
  /** What went wrong on the way; there may be a verdict nevertheless. */
  readonly error?: string;
}

/** A permission: of resources, or of paths if `nonResourceURLs` is there. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The rules that an authorizer knows for a user in a namespace. */
export interface KnownRules {
  readonly rules: readonly PolicyRule[];
  /** There may be more that this authorizer cannot list. */
  readonly incomplete: boolean;
  /** "" if nothing went wrong. */
  readonly error: string;
}

export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): Awaitable<Decision>;
  /** Absent where decisions do not follow from rules. */
  rules?(user: User, namespace: string): KnownRules;
}
