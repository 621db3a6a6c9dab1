import type { Slices } from "#base";
import {
  type AccessCheck,
  authorizerValue,
  CelFault,
  costLimits,
  AccessEvaluator,
  NeededEvaluation,
  type Program,
  resourceCheckValue,
  type Value,
} from "#cel";
import { type Authorizer, nonResourceRequestInfo, resourceRequestInfo, type User } from "#request";
import type { VersionedAttributes } from "./versioned-attributes.ts";

/** A compiled expression, or its compile error. */
export interface Expression {
  readonly text: string;
  readonly program?: Program | undefined;
  readonly fault?: string | undefined;
}

export interface Variable extends Expression {
  readonly name: string;
}

/** The expressions of a configuration exceeded their total cost budget. */
export class CostBudgetError extends Error {
  override readonly name = "CostBudgetError";
  constructor() {
    super(
      "validation failed due to running out of cost budget, " +
        "no further validation rules will be run",
    );
  }
}

/** Result of an expression; error messages are for clients. */
export type Result =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

interface Scope {
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly inquiry: AccessEvaluator;
  /** In cost units. */
  readonly budget: number;
  readonly variables?: readonly Variable[];
}

/**
 * Evaluates expressions on one request with a common cost budget and lazy variables: each variable is
 * evaluated on first use, and its cost charged to that expression.
 */
export class Evaluation {
  #left: number;
  readonly #bindings: Readonly<Record<string, unknown>>;

  constructor(private readonly scope: Scope) {
    this.#left = scope.budget;
    const { variables } = scope;
    this.#bindings =
      variables === undefined
        ? scope.bindings
        : { ...scope.bindings, variables: this.#lazyVariables(variables) };
  }

  /** Evaluates an expression. @throws CostBudgetError */
  async run({ text, program, fault }: Expression): Promise<Result> {
    if (program === undefined) return { error: `compilation error: ${fault ?? ""}` };
    const { inquiry } = this.scope;
    const outcome = await inquiry.evaluate(program, this.#bindings, costLimits.call);
    this.#spend(outcome.cost);
    if (outcome.error === undefined) return { value: outcome.value };
    return { error: `expression '${text}' resulted in error: ${outcome.error}` };
  }

  get left(): number {
    return this.#left;
  }

  #spend(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new CostBudgetError();
  }

  #lazyVariables(variables: readonly Variable[]): object {
    const shape: object = Object.create(null);
    // Of variables with the same name, the last one counts.
    for (const variable of new Map(variables.map((each) => [each.name, each])).values()) {
      const evaluation = new NeededEvaluation(() => this.#evaluateVariable(variable));
      let isRunning = false;
      const get = (): Value => {
        if (isRunning) throw new CelFault(`variable ${JSON.stringify(variable.name)} uses itself`);
        isRunning = true;
        try {
          const known = evaluation.result();
          if ("fault" in known) throw new CelFault(known.fault);
          return known.value;
        } finally {
          isRunning = false;
        }
      };
      Object.defineProperty(shape, variable.name, { enumerable: true, get });
    }
    return shape;
  }

  /** Evaluates a variable. An authorizer call throws through, and the whole expression is re-run later. */
  *#evaluateVariable({
    name,
    program,
    fault,
  }: Variable): Slices<{ readonly value: Value } | { readonly fault: string }> {
    const called = `composited variable ${JSON.stringify(name)}`;
    if (program === undefined) return { fault: `${called} fails to compile: ${fault ?? ""}` };
    const outcome = yield* program.evaluateInSlices(this.#bindings, costLimits.call);
    const { value, error, cost } = outcome;
    this.#spend(cost);
    return error === undefined ? { value } : { fault: `${called} fails to evaluate: ${error}` };
  }
}

/** Authorization request of an expression's authorizer call, for the user of the request. */
export function authorizationRequest(
  { attributes, pause }: VersionedAttributes,
  authorizer: Authorizer,
): AccessEvaluator {
  const { user } = attributes.request;
  return new AccessEvaluator(async (question) => {
    const decision = await authorizer.authorize(accessOf(question, user));
    const { verdict, reason, error } = decision;
    const allowed = verdict === "allow";
    return error === undefined ? { allowed, reason } : { allowed, reason, error };
  }, pause);
}

function accessOf(question: AccessCheck, user: User) {
  const { verb, path, serviceAccount } = question;
  const request =
    path === undefined
      ? resourceRequestInfo({ ...question, version: "*" })
      : nonResourceRequestInfo(verb, path);
  return { user: serviceAccount === undefined ? user : accountUser(serviceAccount), request };
}

function accountUser({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const prefix = "system:serviceaccount";
  const groups = [`${prefix}s`, `${prefix}s:${namespace}`];
  return { name: `${prefix}:${namespace}:${name}`, uid: "", groups, extra: new Map() };
}

/** Variables `authorizer` and `authorizer.requestResource`. */
export function authorizerBindings({ authorizer }: AccessEvaluator, reviewed: VersionedAttributes) {
  const { resource, subresource, namespace, name } = reviewed;
  const { group, plural } = resource;
  return {
    authorizer: authorizerValue(authorizer),
    "authorizer.requestResource": resourceCheckValue(authorizer, {
      group,
      resource: plural,
      subresource,
      namespace,
      name,
    }),
  };
}
