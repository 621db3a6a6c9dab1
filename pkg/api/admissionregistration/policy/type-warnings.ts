/** Type checking of ValidatingAdmissionPolicies; its results are warnings in the status. */
import { type CelType, kindType, resourceType, type StructuralSchema, structType } from "#cel";
import { type Domain, groupVersionOf, type Kind, objectMeta, resolve } from "#meta";
import { compileExpression, type ExpressionScope, variableTypes } from "./policy-expressions.ts";

/** The fields of a ValidatingAdmissionPolicy that type checking uses. */
export interface CheckedPolicy {
  readonly paramKind?: object;
  readonly matchConstraints?: {
    readonly resourceRules?: readonly {
      readonly apiGroups?: readonly string[];
      readonly apiVersions?: readonly string[];
      readonly resources?: readonly string[];
    }[];
  };
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations?: readonly {
    readonly expression: string;
    readonly messageExpression?: string;
  }[];
}

export interface ExpressionWarning {
  /** `spec.validations[0].expression` */
  readonly fieldRef: string;
  readonly warning: string;
}

/** A resource in one version, with the CEL type of its objects. */
export interface TypedResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  /** Undefined if the type is unknown; expressions are then not checked. */
  readonly type: () => CelType | undefined;
}

export function typedResources(
  { group: usual, plural, kind, versions }: Kind,
  domain: Domain,
): readonly TypedResource[] {
  return versions.map(({ group = usual, version, struct }) => {
    const named = { group: resolve(group, domain), version, plural, kind };
    return { ...named, type: () => kindType(struct) };
  });
}

/** CEL type of the custom resources with this schema. */
export function customType(schema: StructuralSchema): CelType | undefined {
  return resourceType(schema, structType(objectMeta));
}

/** Maximum number of kinds that a policy is checked against, as in Kubernetes. */
export const maxCheckedKinds = 10;

/**
 * Type errors of the validations of a policy, for every kind that its rules name without wildcards:
 * `apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'foo'`. Skips kinds that are not
 * among `resources`.
 */
export function typeWarnings(
  spec: CheckedPolicy,
  resources: readonly TypedResource[],
): readonly ExpressionWarning[] {
  const types = typesOf(spec, resources);
  const check = (source: string, scope: Partial<ExpressionScope>): string =>
    types
      .flatMap(({ name, type }) => {
        const error = faultOf(spec, source, { ...scope, object: type });
        return error === undefined ? [] : [`${name}: ${error}\n`];
      })
      .join("\n");
  return (spec.validations ?? []).flatMap(({ expression, messageExpression = "" }, index) => {
    const place = `spec.validations[${index}]`;
    const warnings = [
      { fieldRef: `${place}.expression`, warning: check(expression, { authorizer: true }) },
      {
        fieldRef: `${place}.messageExpression`,
        warning: messageExpression === "" ? "" : check(messageExpression, {}),
      },
    ];
    return warnings.filter(({ warning }) => warning !== "");
  });
}

function faultOf(
  { variables = [], paramKind }: CheckedPolicy,
  source: string,
  given: Partial<ExpressionScope>,
): string | undefined {
  const common = { ...given, params: paramKind !== undefined };
  const declared = variableTypes(variables, { ...common, authorizer: true });
  const scope = { ...declared.scope, ...common };
  const { error } = compileExpression(source.trim(), "variable", scope);
  return error?.replace(/^compilation failed: /, "");
}

interface NamedType {
  /** `apps/v1, Kind=Deployment` */
  readonly name: string;
  readonly type: CelType;
}

function typesOf(
  { matchConstraints }: CheckedPolicy,
  known: readonly TypedResource[],
): readonly NamedType[] {
  const found = new Map<string, NamedType>();
  for (const rule of matchConstraints?.resourceRules ?? []) {
    const { apiGroups = [], apiVersions = [], resources = [] } = rule;
    for (const { group, version, plural, kind, type } of known) {
      const matchesVersion = apiGroups.includes(group) && apiVersions.includes(version);
      const celType = matchesVersion && resources.includes(plural) ? type() : undefined;
      const name = `${groupVersionOf(group, version)}, Kind=${kind}`;
      if (celType !== undefined) found.set(name, { name, type: celType });
    }
  }
  return [...found.values()].slice(0, maxCheckedKinds);
}
