/** Maps the claims of a verified token to a user. */
import type { Program, Value } from "#cel";
import { ListValue, plainJson } from "#cel";
import { type Domain, goQuote, resolve } from "#meta";
import type { User } from "#request";
import type { Claims } from "../jwt/jwt.ts";
import { userInfoOf } from "../self-subject-review.ts";
import { InvalidTokenError } from "../tokens/token-authenticator.ts";
import type { ClaimMapping } from "./configuration-structs.ts";
import type { JwtIssuerOptions } from "./configuration.ts";
import { evaluate, type Rule } from "./expressions.ts";

/**
 * Maps claims to a user, and validates both by the rules of the configuration.
 * @throws InvalidTokenError for the first violated rule, with Kubernetes' message
 */
export function userOfClaims(claims: Claims, options: JwtIssuerOptions, domain: Domain): User {
  const { configuration, rules } = options;
  const user = {
    name: usernameOf(claims, options),
    groups: groupsOf(claims, options),
    uid: uidOf(claims, options),
    extra: new Map([...extraOf(claims, options), ...credentialOf(claims, domain)]),
  };
  for (const { claim = "", requiredValue = "" } of configuration.claimValidationRules ?? []) {
    if (claim !== "") checkRequired(claims, claim, requiredValue);
  }
  checkRules(rules.claims, { claims }, "claim validation expression");
  checkRules(rules.user, { user: userInfoOf(user) }, "user info validation rule");
  return user;
}

function usernameOf(claims: Claims, { configuration, rules }: JwtIssuerOptions): string {
  const { username } = configuration.claimMappings;
  if (rules.username !== undefined) {
    return textFrom(rules.username, claims, "username");
  }
  const { claim = "", prefix } = username;
  const value = textClaim(claims, claim, `parse username claims ${goQuote(claim)}`);
  if (claim === "email" && Object.hasOwn(claims, "email_verified")) {
    const verified = claims["email_verified"];
    if (typeof verified !== "boolean") throw fault("parse 'email_verified' claim: not a bool");
    if (!verified) throw fault("email not verified");
  }
  return `${prefix ?? ""}${value}`;
}

function groupsOf(claims: Claims, { configuration, rules }: JwtIssuerOptions): readonly string[] {
  if (rules.groups !== undefined) return stringsFrom(rules.groups, claims, "group");
  const { claim = "", prefix }: ClaimMapping = configuration.claimMappings.groups;
  if (claim === "" || !Object.hasOwn(claims, claim)) return [];
  const value = claims[claim] ?? [];
  // Some issuers send a single string instead of a list.
  const listed: readonly unknown[] = Array.isArray(value) ? value : [value];
  return listed.map((each) => {
    if (typeof each === "string") return `${prefix ?? ""}${each}`;
    throw fault(`parse groups claim ${goQuote(claim)}: neither a string nor a list of strings`);
  });
}

function uidOf(claims: Claims, { configuration, rules }: JwtIssuerOptions): string {
  if (rules.uid !== undefined) return textFrom(rules.uid, claims, "uid");
  const { claim = "" } = configuration.claimMappings.uid;
  return claim === "" ? "" : textClaim(claims, claim, `parse uid claim ${goQuote(claim)}`);
}

function extraOf(claims: Claims, { rules }: JwtIssuerOptions): User["extra"] {
  const found = rules.extra.map(
    ({ key, program }) => [key, stringsFrom(program, claims, `extra ${goQuote(key)}`)] as const,
  );
  return new Map(found.filter(([, values]) => values.length > 0));
}

/** Extra with the credential id (`jti`), which identifies the token in audit logs. */
function credentialOf({ jti }: Claims, domain: Domain): User["extra"] {
  if (typeof jti !== "string" || jti === "") return new Map();
  const key = resolve("authentication.{label}/credential-id", domain);
  return new Map([[key, [`JTI=${jti}`]]]);
}

/** Checks a required claim; only strings are supported. */
function checkRequired(claims: Claims, claim: string, wanted: string): void {
  if (!Object.hasOwn(claims, claim)) {
    throw fault(`required claim ${claim} not present in ID token`);
  }
  const value = textClaim(claims, claim, `parse claim ${claim}`);
  if (value === wanted) return;
  throw fault(`required claim ${claim} value does not match. Got = ${value}, want = ${wanted}`);
}

function checkRules(
  rules: readonly Rule[],
  variables: Readonly<Record<string, unknown>>,
  what: string,
): void {
  for (const { expression, message, program } of rules) {
    const value = attempt(what, () => evaluate(program, variables));
    if (value === true) continue;
    throw fault(
      `error evaluating ${what}: validation expression '${expression}' failed: ${message}`,
    );
  }
}

function textFrom(program: Program, claims: Claims, what: string): string {
  const place = `${what} claim expression`;
  const value = attempt(place, () => evaluate(program, { claims }));
  if (typeof value === "string") return value;
  throw fault(`error evaluating ${place}: ${place} must return a string`);
}

/** Evaluates to a string or a list of strings; drops empty ones and null. */
function stringsFrom(program: Program, claims: Claims, what: string): readonly string[] {
  const place = `${what} claim expression`;
  return attempt(place, () => {
    const value: Value = evaluate(program, { claims });
    const listed: unknown = value instanceof ListValue ? plainJson(value) : (value ?? []);
    const texts: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
    return texts.filter((each): each is string => {
      if (typeof each === "string") return each !== "";
      throw new Error("expression must return a string or a list of strings");
    });
  });
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fault(`error evaluating ${what}: ${(error as Error).message}`);
  }
}

function textClaim(claims: Claims, name: string, what: string): string {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) throw fault(`${what}: claim not present`);
  if (typeof value !== "string") throw fault(`${what}: not a string`);
  return value;
}

function fault(detail: string): InvalidTokenError {
  return new InvalidTokenError(`oidc: ${detail}`);
}
