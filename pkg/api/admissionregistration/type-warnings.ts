/** What types tell of the expressions of a policy that was accepted without knowing them. */
import { kindType } from "#cel";
import { type Domain, groupVersionOf, type Kind, type KindVersion, resolve } from "#meta";
import { compileExpression, type ExpressionScope, variableTypes } from "./policy-expressions.ts";

/** As much of a ValidatingAdmissionPolicy as matters here. */
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

/** Kinds that one policy is checked with, as in Kubernetes. */
const mostTypes = 10;

/**
 * Doubts about the validations of a policy, for every kind that its rules name without wildcards:
 * `apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'foo'`. Kinds that are not among
 * `kinds` are taken for good.
 */
export function typeWarnings(
  spec: CheckedPolicy,
  kinds: readonly Kind[],
  domain: Domain,
): readonly ExpressionWarning[] {
  const types = typesOf(spec, kinds, domain);
  const check = (source: string, scope: Partial<ExpressionScope>): string =>
    types
      .flatMap(({ name, version }) => {
        const error = faultOf(spec, source, { ...scope, object: kindType(version.struct) });
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

interface NamedVersion {
  /** `apps/v1, Kind=Deployment` */
  readonly name: string;
  readonly version: KindVersion;
}

function typesOf(
  { matchConstraints }: CheckedPolicy,
  kinds: readonly Kind[],
  domain: Domain,
): readonly NamedVersion[] {
  const found = new Map<string, NamedVersion>();
  for (const rule of matchConstraints?.resourceRules ?? []) {
    const { apiGroups = [], apiVersions = [], resources = [] } = rule;
    for (const kind of kinds.filter(({ plural }) => resources.includes(plural))) {
      for (const version of kind.versions) {
        const group = resolve(version.group ?? kind.group, domain);
        if (!apiGroups.includes(group) || !apiVersions.includes(version.version)) continue;
        const name = `${groupVersionOf(group, version.version)}, Kind=${kind.kind}`;
        found.set(name, { name, version });
      }
    }
  }
  return [...found.values()].slice(0, mostTypes);
}
