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

const PREFIX = "kubernetes.authorization";
const AUTHORIZER = `${PREFIX}.Authorizer`;
const PATH = `${PREFIX}.PathCheck`;
const GROUP = `${PREFIX}.GroupCheck`;
const RESOURCE = `${PREFIX}.ResourceCheck`;
const DECISION = `${PREFIX}.Decision`;

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
  return checkValue(AUTHORIZER, { decide, check: {} });
}

/** The value of `authorizer.requestResource`. */
export function resourceCheckValue(
  decide: AccessDecider,
  check: Omit<AccessCheck, "verb" | "path">,
): Value {
  return checkValue(RESOURCE, { decide, check });
}

function checkValue(type: string, content: CheckBuilder): CheckValue {
  return new Opaque(type, content, content);
}

function withAttributes(type: string, { content }: CheckValue, more: Partial<AccessCheck>): Value {
  return checkValue(type, { decide: content.decide, check: { ...content.check, ...more } });
}

function decide({ content }: CheckValue, verb: string): Value {
  const decision = content.decide({ ...content.check, verb });
  return new Opaque(DECISION, decision, decision);
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
  return withAttributes(AUTHORIZER, asking, { serviceAccount: { namespace, name } });
}

type DecisionValue = Opaque<AccessDecision>;

/** Types for declarations: `authorizer` and `authorizer.requestResource`. */
export const authorizerType = readType(AUTHORIZER);
export const resourceCheckType = readType(RESOURCE);

export const authorizationLibrary: Library = {
  functions: [
    attributeSetter("path", AUTHORIZER, PATH),
    attributeSetter("group", AUTHORIZER, GROUP),
    attributeSetter("resource", GROUP, RESOURCE),
    attributeSetter("subresource", RESOURCE, RESOURCE),
    attributeSetter("namespace", RESOURCE, RESOURCE),
    attributeSetter("name", RESOURCE, RESOURCE),
    attributeSetter("fieldSelector", RESOURCE, RESOURCE),
    attributeSetter("labelSelector", RESOURCE, RESOURCE),
    define(
      "serviceAccount",
      overload(
        "authorizer_serviceaccount",
        `${AUTHORIZER}.(string, string) -> ${AUTHORIZER}`,
        ofServiceAccount,
      ),
    ),
    define(
      "check",
      overload("pathcheck_check", `${PATH}.(string) -> ${DECISION}`, decide),
      overload("resourcecheck_check", `${RESOURCE}.(string) -> ${DECISION}`, decide),
    ),
    define(
      "allowed",
      overload(
        "decision_allowed",
        `${DECISION}.() -> bool`,
        ({ content }: DecisionValue) => content.allowed,
      ),
    ),
    define(
      "reason",
      overload(
        "decision_reason",
        `${DECISION}.() -> string`,
        ({ content }: DecisionValue) => content.reason,
      ),
    ),
    define(
      "errored",
      overload(
        "decision_errored",
        `${DECISION}.() -> bool`,
        ({ content }: DecisionValue) => content.error !== undefined,
      ),
    ),
    define(
      "error",
      overload(
        "decision_error",
        `${DECISION}.() -> string`,
        ({ content }: DecisionValue) => content.error ?? "",
      ),
    ),
  ],
};
