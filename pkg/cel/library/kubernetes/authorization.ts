/** Questions to the authorizer. */
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

/** What an expression wants to know. */
export interface AccessQuestion {
  readonly verb: string;
  /** For someone else than the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  /** Path of a non-resource request; then the rest is absent. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** As written; what it means is up to the authorizer. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Answers at once. What it throws ends the evaluation and reaches its caller. */
export type AccessOracle = (question: AccessQuestion) => AccessDecision;

interface Draft {
  readonly ask: AccessOracle;
  readonly question: Omit<AccessQuestion, "verb">;
}

type Asking = Opaque<Draft>;

/** The value of the variable `authorizer`. */
export function authorizerValue(ask: AccessOracle): Value {
  return draft(AUTHORIZER, { ask, question: {} });
}

/** The value of `authorizer.requestResource`. */
export function resourceCheckValue(
  ask: AccessOracle,
  question: Omit<AccessQuestion, "verb" | "path">,
): Value {
  return draft(RESOURCE, { ask, question });
}

function draft(type: string, content: Draft): Asking {
  return new Opaque(type, content, content);
}

function refined(type: string, { content }: Asking, more: Partial<AccessQuestion>): Value {
  return draft(type, { ask: content.ask, question: { ...content.question, ...more } });
}

function decide({ content }: Asking, verb: string): Value {
  const decision = content.ask({ ...content.question, verb });
  return new Opaque(DECISION, decision, decision);
}

/** A step that adds one text to the question. */
function adding(
  name: keyof AccessQuestion & string,
  from: string,
  to: string,
): FunctionDeclaration {
  const id = `${from.split(".").at(-1)?.toLowerCase()}_${name.toLowerCase()}`;
  const add = (asking: Asking, text: string): Value => {
    const isRequired = name === "path" || name === "resource";
    if (isRequired && text.trim() === "") throw new CelFault(`${name} must not be empty`);
    return refined(to, asking, { [name]: text });
  };
  return define(name, overload(id, `${from}.(string) -> ${to}`, add));
}

function ofServiceAccount(asking: Asking, namespace: string, name: string): Value {
  if (isDns1123Subdomain(name).length > 0) throw new CelFault("Invalid service account name");
  if (isDns1123Label(namespace).length > 0) {
    throw new CelFault("Invalid service account namespace");
  }
  return refined(AUTHORIZER, asking, { serviceAccount: { namespace, name } });
}

type Decided = Opaque<AccessDecision>;

/** Types for declarations: `authorizer` and `authorizer.requestResource`. */
export const authorizerType = readType(AUTHORIZER);
export const resourceCheckType = readType(RESOURCE);

export const authorizationLibrary: Library = {
  functions: [
    adding("path", AUTHORIZER, PATH),
    adding("group", AUTHORIZER, GROUP),
    adding("resource", GROUP, RESOURCE),
    adding("subresource", RESOURCE, RESOURCE),
    adding("namespace", RESOURCE, RESOURCE),
    adding("name", RESOURCE, RESOURCE),
    adding("fieldSelector", RESOURCE, RESOURCE),
    adding("labelSelector", RESOURCE, RESOURCE),
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
        ({ content }: Decided) => content.allowed,
      ),
    ),
    define(
      "reason",
      overload(
        "decision_reason",
        `${DECISION}.() -> string`,
        ({ content }: Decided) => content.reason,
      ),
    ),
    define(
      "errored",
      overload(
        "decision_errored",
        `${DECISION}.() -> bool`,
        ({ content }: Decided) => content.error !== undefined,
      ),
    ),
    define(
      "error",
      overload(
        "decision_error",
        `${DECISION}.() -> string`,
        ({ content }: Decided) => content.error ?? "",
      ),
    ),
  ],
};
