/** Kubernetes' authorizer library. */
import {
  define,
  type FunctionDeclaration,
  type Library,
  overload,
  readType,
} from "../../check/declare.ts";
import { isDns1123Label, isDns1123Subdomain } from "#meta";
import { CelFault, Opaque, type Value } from "../../value/values.ts";

const typePrefix = "kubernetes.authorization";
const authorizerTypeName = `${typePrefix}.Authorizer`;
const pathCheckTypeName = `${typePrefix}.PathCheck`;
const groupCheckTypeName = `${typePrefix}.GroupCheck`;
const resourceCheckTypeName = `${typePrefix}.ResourceCheck`;
const decisionTypeName = `${typePrefix}.Decision`;

/** Attributes of an authorization check. */
export interface AccessCheck {
  readonly verb: string;
  /** Subject of the check; absent = the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  /** Path of a non-resource check; the attributes below are then absent. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The selector as text, which the authorizer parses. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Decides synchronously. An exception ends the evaluation and is passed to its caller. */
export type AccessDecider = (question: AccessCheck) => AccessDecision;

interface CheckBuilder {
  readonly decide: AccessDecider;
  readonly check: Omit<AccessCheck, "verb">;
}

type CheckValue = Opaque<CheckBuilder>;

/** The value of the variable `authorizer`. */
export function authorizerValue(decide: AccessDecider): Value {
  return checkValue(authorizerTypeName, { decide, check: {} });
}

/** The value of `authorizer.requestResource`. */
export function resourceCheckValue(
  decide: AccessDecider,
  check: Omit<AccessCheck, "verb" | "path">,
): Value {
  return checkValue(resourceCheckTypeName, { decide, check });
}

function checkValue(type: string, content: CheckBuilder): CheckValue {
  return new Opaque(type, content, content);
}

function withAttributes(type: string, { content }: CheckValue, more: Partial<AccessCheck>): Value {
  return checkValue(type, { decide: content.decide, check: { ...content.check, ...more } });
}

function decide({ content }: CheckValue, verb: string): Value {
  const decision = content.decide({ ...content.check, verb });
  return new Opaque(decisionTypeName, decision, decision);
}

/** A function that sets one attribute of the check. */
function attributeSetter(
  name: keyof AccessCheck & string,
  from: string,
  to: string,
): FunctionDeclaration {
  const id = `${from.split(".").at(-1)?.toLowerCase()}_${name.toLowerCase()}`;
  const add = (asking: CheckValue, text: string): Value => {
    const isRequired = name === "path" || name === "resource";
    if (isRequired && text.trim() === "") throw new CelFault(`${name} must not be empty`);
    return withAttributes(to, asking, { [name]: text });
  };
  return define(name, overload(id, `${from}.(string) -> ${to}`, add));
}

function ofServiceAccount(asking: CheckValue, namespace: string, name: string): Value {
  if (isDns1123Subdomain(name).length > 0) throw new CelFault("Invalid service account name");
  if (isDns1123Label(namespace).length > 0) {
    throw new CelFault("Invalid service account namespace");
  }
  return withAttributes(authorizerTypeName, asking, { serviceAccount: { namespace, name } });
}

type DecisionValue = Opaque<AccessDecision>;

/** Types for declarations: `authorizer` and `authorizer.requestResource`. */
export const authorizerType = readType(authorizerTypeName);
export const resourceCheckType = readType(resourceCheckTypeName);

export const authorizationLibrary: Library = {
  functions: [
    attributeSetter("path", authorizerTypeName, pathCheckTypeName),
    attributeSetter("group", authorizerTypeName, groupCheckTypeName),
    attributeSetter("resource", groupCheckTypeName, resourceCheckTypeName),
    attributeSetter("subresource", resourceCheckTypeName, resourceCheckTypeName),
    attributeSetter("namespace", resourceCheckTypeName, resourceCheckTypeName),
    attributeSetter("name", resourceCheckTypeName, resourceCheckTypeName),
    attributeSetter("fieldSelector", resourceCheckTypeName, resourceCheckTypeName),
    attributeSetter("labelSelector", resourceCheckTypeName, resourceCheckTypeName),
    define(
      "serviceAccount",
      overload(
        "authorizer_serviceaccount",
        `${authorizerTypeName}.(string, string) -> ${authorizerTypeName}`,
        ofServiceAccount,
      ),
    ),
    define(
      "check",
      overload("pathcheck_check", `${pathCheckTypeName}.(string) -> ${decisionTypeName}`, decide),
      overload(
        "resourcecheck_check",
        `${resourceCheckTypeName}.(string) -> ${decisionTypeName}`,
        decide,
      ),
    ),
    define(
      "allowed",
      overload(
        "decision_allowed",
        `${decisionTypeName}.() -> bool`,
        ({ content }: DecisionValue) => content.allowed,
      ),
    ),
    define(
      "reason",
      overload(
        "decision_reason",
        `${decisionTypeName}.() -> string`,
        ({ content }: DecisionValue) => content.reason,
      ),
    ),
    define(
      "errored",
      overload(
        "decision_errored",
        `${decisionTypeName}.() -> bool`,
        ({ content }: DecisionValue) => content.error !== undefined,
      ),
    ),
    define(
      "error",
      overload(
        "decision_error",
        `${decisionTypeName}.() -> string`,
        ({ content }: DecisionValue) => content.error ?? "",
      ),
    ),
  ],
};
