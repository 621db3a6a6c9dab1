/** Common parts of both policy kinds and their bindings. */
import { type ExpressionScope, variableTypes } from "#api";
import { type Catalog, type LabelSelector, type Resource } from "#meta";
import type { ApiObject } from "#client";
import type { AdmissionAttributes, ServerAccess } from "#registry";
import {
  type Expression,
  expressionOf,
  FollowedKind,
  MatchIndex,
  type MatchConstraints,
  type Rule,
  type Selectors,
  selectorsOf,
  type Variable,
} from "../dynamic/index.ts";

export interface MatchResources {
  readonly resourceRules?: readonly Rule[];
  readonly excludeResourceRules?: readonly Rule[];
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly parameterNotFoundAction?: string;
}

interface Named {
  readonly name: string;
  readonly expression: string;
}

/** Common fields of both policy kinds. */
export interface Policy extends ApiObject {
  readonly spec: {
    readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
    readonly matchConstraints?: MatchResources;
    readonly matchConditions?: readonly Named[];
    readonly variables?: readonly Named[];
    readonly failurePolicy?: string;
  };
}

export interface Binding extends ApiObject {
  readonly spec: {
    readonly policyName?: string;
    readonly paramRef?: ParamRef;
    readonly matchResources?: MatchResources;
    readonly validationActions?: readonly string[];
  };
}

/** A policy with one of its bindings, with parsed selectors. */
export interface BoundPolicy<P extends Policy> {
  readonly policy: P;
  readonly binding: Binding;
  /** Selectors of the policy and of the binding; both must match. */
  readonly selectors: readonly Selectors[];
}

/** Bound policies that may match a request. */
export type Candidates<P extends Policy> = ReturnType<MatchIndex<BoundPolicy<P>>["candidates"]>;

/** Bound policies of one kind, sorted by names of policies and bindings. */
export class PolicySet<P extends Policy> {
  readonly #policies: FollowedKind<P>;
  readonly #bindings: FollowedKind<Binding>;
  #from: readonly unknown[] = [];
  #index: MatchIndex<BoundPolicy<P>> | undefined;

  constructor(
    sort: "validating" | "mutating",
    versions: readonly string[],
    private readonly catalog: Catalog,
  ) {
    this.#policies = new FollowedKind(`${sort}admissionpolicies`, versions);
    this.#bindings = new FollowedKind(`${sort}admissionpolicybindings`, versions);
  }

  async follow(options: ServerAccess): Promise<void> {
    await Promise.all([this.#policies.follow(options), this.#bindings.follow(options)]);
  }

  /** Bound policies that may match the request. */
  candidates({ operation, request }: AdmissionAttributes): Candidates<P> {
    const { resource, subresource } = request;
    const aim = { operation: operation.toUpperCase(), resource, subresource };
    return this.#matching().candidates(aim);
  }

  #matching(): MatchIndex<BoundPolicy<P>> {
    const from = [this.#policies.all, this.#bindings.all];
    if (this.#index === undefined || from.some((all, at) => all !== this.#from[at])) {
      this.#index = new MatchIndex(this.#bound(), matchingsOf, this.catalog);
      this.#from = from;
    }
    return this.#index;
  }

  #bound(): readonly BoundPolicy<P>[] {
    const byPolicy = new Map<string, Binding[]>();
    for (const binding of this.#bindings.all) {
      const { policyName = "" } = binding.spec;
      const bindings = byPolicy.get(policyName);
      if (bindings === undefined) byPolicy.set(policyName, [binding]);
      else bindings.push(binding);
    }
    return this.#policies.all.flatMap((policy) =>
      (byPolicy.get(policy.metadata.name) ?? []).map((binding) => ({
        policy,
        binding,
        selectors: [policy.spec.matchConstraints, binding.spec.matchResources].flatMap((each) =>
          each === undefined ? [] : [selectorsOf(each)],
        ),
      })),
    );
  }
}

function matchingsOf({ policy, binding }: BoundPolicy<Policy>): readonly MatchConstraints[] {
  const all = [policy.spec.matchConstraints ?? {}, binding.spec.matchResources];
  return all.flatMap((resources) => {
    if (resources === undefined) return [];
    const { resourceRules: rules = [], excludeResourceRules: excluded = [] } = resources;
    const equivalent = resources.matchPolicy !== "Exact";
    return [{ rules, excluded, equivalent, anyWithoutRules: true }];
  });
}

/** Shared parts of a policy's expressions. */
export interface CompiledPolicy {
  readonly conditions: readonly Expression[];
  readonly variables: readonly Variable[];
  /** Scope of the expressions that may use the variables. */
  readonly scope: ExpressionScope;
}

export function compiledPolicy({ spec }: Policy): CompiledPolicy {
  const { matchConditions = [], variables = [], paramKind } = spec;
  const scope = { params: paramKind !== undefined, authorizer: true };
  const typed = variableTypes(variables, scope);
  return {
    conditions: matchConditions.map(({ expression }) =>
      expressionOf(expression, "condition", scope),
    ),
    variables: typed.compiled.map(({ name, expression, program, error }) => {
      return { name, text: expression, program, fault: error };
    }),
    scope: typed.scope,
  };
}

/** Resource of a policy's paramKind; "unknown" = not served. */
export function paramResource(
  { spec }: Policy,
  catalog: Catalog,
): Resource | "unknown" | undefined {
  if (spec.paramKind === undefined) return undefined;
  const { apiVersion = "", kind = "" } = spec.paramKind;
  return catalog.findKind(apiVersion, kind) ?? "unknown";
}

/** Error message for a paramKind that is not served. */
export function unknownKind({ spec }: Policy): string {
  const { apiVersion = "", kind = "" } = spec.paramKind ?? {};
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const named = `${group}/${version}, Kind=${kind}`;
  const why = `failed to find resource referenced by paramKind: '${named}'`;
  return `failed to configure policy: ${why}`;
}
