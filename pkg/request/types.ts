/** Types of requests, users, authentication and authorization. */
import type { X509Certificate } from "node:crypto";
import type { Awaitable } from "#base";

export interface RequestInfo {
  /** True below `/api/<version>/` and `/apis/<group>/<version>/` when a resource is named. */
  readonly isResource: boolean;
  /** Decoded path, for non-resource rules. */
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
  /** Path segments after name and subresource, for proxies. */
  readonly rest: readonly string[];
}

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
  /** Audit annotations for the user's requests. */
  readonly remarks?: ReadonlyMap<string, string>;
}

/** The client certificate of a TLS connection; one object for all its requests. */
export interface PeerCertificate {
  /** The client's certificate, then the intermediates that it sent. */
  readonly chain: readonly X509Certificate[];
}

/** Input of authenticators. Header names are in lower case. */
export interface Credentials {
  readonly authorization: readonly string[];
  readonly certificate: PeerCertificate | undefined;
  /** The values of each header whose name has the prefix. */
  readonly headersBelow: (prefix: string) => ReadonlyMap<string, readonly string[]>;
  /** Decoded path of the request. */
  readonly path: string;
  /** Aborts when the client disconnects or the request times out; absent = never. Read only if needed. */
  readonly signal?: AbortSignal;
}

/** Resolves to undefined for no opinion; throws for an invalid credential. */
export interface Authenticator {
  authenticate(credentials: Credentials): Awaitable<User | undefined>;
}

/** A requirement of a field or label selector. */
export interface SelectorTerm {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

export interface AuthorizationAttributes {
  readonly user: User;
  readonly request: RequestInfo;
  /** Selectors of a list or watch; absent = none. */
  readonly fieldTerms?: readonly SelectorTerm[];
  readonly labelTerms?: readonly SelectorTerm[];
  /** Aborts when the client disconnects or the request times out; absent = never. Read only if needed. */
  readonly signal?: AbortSignal;
}

export interface Decision {
  readonly verdict: "allow" | "deny" | "no-opinion";
  readonly reason: string;
  /** Evaluation error, which does not preclude a verdict. */
  readonly error?: string;
}

/** A permission for resources, or for paths if `nonResourceURLs` is present. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The rules of a user in a namespace, for SelfSubjectRulesReviews. */
export interface KnownRules {
  readonly rules: readonly PolicyRule[];
  /** Whether there may be more rules that the authorizer cannot list. */
  readonly incomplete: boolean;
  /** Evaluation error; "" = none. */
  readonly error: string;
}

export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): Awaitable<Decision>;
  /** Absent if decisions are not based on rules. */
  rules?(user: User, namespace: string): KnownRules;
}
