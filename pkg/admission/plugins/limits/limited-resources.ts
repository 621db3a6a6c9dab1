/** `limitedResources` of the ResourceQuota plugin: resources that may be used only if a quota covers them. */
import { isJsonObject, type JsonObject } from "#base";
import { type Domain, plainFailure, Quantity, resolve } from "#meta";
import { type Amounts, type Evaluator, inScope, type ScopeSelector, scopesOf } from "#quota";
import type { AdmissionAttributes } from "#registry";
import {
  AdmissionConfigurationFault,
  known,
  listIn,
  recordOf,
  typed,
} from "../../configuration/fields.ts";
import { forbiddenRequest } from "../../objects.ts";

export interface LimitedResource {
  readonly group: string;
  readonly plural: string;
  /** matchContains: substrings of quota resource names whose usage requires a covering quota. */
  readonly contains: readonly string[];
  /** matchScopes: scopes whose objects require a quota with that scope. */
  readonly scopes: readonly ScopeSelector[];
}

/** Parses a ResourceQuotaConfiguration. @throws AdmissionConfigurationFault */
export function limitedResourcesIn(value: unknown, domain: Domain): readonly LimitedResource[] {
  const fields = typed(value, typeIn(value, domain), domain);
  known(fields, ["apiVersion", "kind", "limitedResources"], "ResourceQuota");
  return listIn(fields, "limitedResources").map((each) => limitedIn(each));
}

/** Expected type; old configurations have another group. */
function typeIn(value: unknown, domain: Domain) {
  const group = "resourcequota.admission.{api}";
  const named = isJsonObject(value) ? String(value["apiVersion"]) : "";
  return named.startsWith(`${resolve(group, domain)}/`)
    ? { group, kind: "Configuration" }
    : { group: "apiserver.config.{api}", kind: "ResourceQuotaConfiguration" };
}

function limitedIn(value: unknown): LimitedResource {
  const what = "limitedResources";
  const fields = recordOf(value, what);
  known(fields, ["apiGroup", "resource", "matchContains", "matchScopes"], what);
  const plural = textIn(fields, "resource");
  if (plural === "") throw new AdmissionConfigurationFault(`${what}.resource: Required value`);
  return {
    group: textIn(fields, "apiGroup"),
    plural,
    contains: listIn(fields, "matchContains").map(String),
    scopes: listIn(fields, "matchScopes").map((each) => scopeIn(recordOf(each, "matchScopes"))),
  };
}

function scopeIn(fields: JsonObject): ScopeSelector {
  known(fields, ["scopeName", "operator", "values"], "matchScopes");
  return {
    scopeName: textIn(fields, "scopeName"),
    operator: textIn(fields, "operator"),
    values: listIn(fields, "values").map(String),
  };
}

function textIn(fields: JsonObject, key: string): string {
  const value = fields[key] ?? "";
  if (typeof value === "string") return value;
  throw new AdmissionConfigurationFault(`${key} must be a string`);
}

/** Limits that apply to a resource. */
export function limitsOn(
  limited: readonly LimitedResource[],
  resource: { readonly group: string; readonly plural: string },
): readonly LimitedResource[] {
  return limited.filter(
    ({ group, plural }) => group === resource.group && plural === resource.plural,
  );
}

interface Coverage {
  readonly limited: readonly LimitedResource[];
  /** All quotas of the namespace. */
  readonly all: readonly any[];
  /** Quotas that match the object. */
  readonly quotas: readonly any[];
  readonly usage: Amounts;
  readonly evaluator: Evaluator;
}

/** @throws 403 if the object uses a limited resource or scope that no quota covers */
export function checkCovered(
  attributes: AdmissionAttributes,
  { limited, all, quotas, usage, evaluator }: Coverage,
): void {
  const { request, object } = attributes;
  const limits = limitsOn(limited, request.resource);
  if (limits.length === 0) return;
  const covered = new Set(quotas.flatMap(({ status }) => Object.keys(status.hard)));
  const uncovered = Object.keys(usage).filter(
    (name) =>
      Quantity.parse(usage[name]!).sign > 0 &&
      limits.some(({ contains }) => contains.some((part) => name.includes(part))) &&
      !(covered.has(name) && evaluator.matches(name)),
  );
  if (uncovered.length > 0) {
    throw forbiddenRequest(
      attributes,
      `insufficient quota to consume: ${uncovered.sort().join(",")}`,
    );
  }
  const isIn = (scope: ScopeSelector) => inScope(scope, request.resource.plural, object);
  const scopes = new Set(
    all
      .flatMap(scopesOf)
      .filter(isIn)
      .map(({ scopeName }) => scopeName),
  );
  const lacking = limits
    .flatMap((limit) => limit.scopes)
    .filter((scope) => isIn(scope) && !scopes.has(scope.scopeName));
  if (lacking.length === 0) return;
  const texts = lacking.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`,
  );
  throw plainFailure(`insufficient quota to match these scopes: [${texts.join(" ")}]`);
}
