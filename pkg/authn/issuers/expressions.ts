/** CEL expressions of an issuer, and their validation. */
import {
  bool,
  compile,
  costLimits,
  dyn,
  Environment,
  formatType,
  listOf,
  mapOf,
  objectOf,
  type Program,
  string,
  type Value,
} from "#cel";
import { type Domain, isDns1123Subdomain } from "#meta";
import type { Path, Problems } from "#schema";
import type { ClaimMapping, JwtConfiguration } from "./configuration-structs.ts";

export interface Rule {
  readonly expression: string;
  readonly message: string;
  readonly program: Program;
}

/** Compiled expressions of an issuer. */
export interface Rules {
  readonly claims: readonly Rule[];
  readonly username: Program | undefined;
  readonly groups: Program | undefined;
  readonly uid: Program | undefined;
  readonly extra: readonly { readonly key: string; readonly program: Program }[];
  readonly user: readonly Rule[];
}

interface Checking {
  readonly path: Path;
  readonly problems: Problems;
  readonly domain: Domain;
  readonly environments: Environments;
}

/** Compiles and validates claim and user rules and mappings. */
export function compileRules(configuration: JwtConfiguration, checking: Checking): Rules {
  const { claimMappings: mappings } = configuration;
  const compiler = new Compiler(checking.environments, checking.problems);
  const path = checking.path.child("claimMappings");
  const rules = {
    claims: compiler.claimRules(configuration, checking.path.child("claimValidationRules")),
    username: compiler.mapping(mappings.username, path.child("username"), true),
    groups: compiler.mapping(mappings.groups, path.child("groups"), false),
    uid: compiler.uid(mappings.uid, path.child("uid")),
    extra: compiler.extra(mappings.extra ?? [], path.child("extra"), checking.domain),
    user: compiler.userRules(configuration, checking.path.child("userValidationRules")),
  };
  checkEmail(configuration, path.child("username", "expression"), checking.problems);
  return rules;
}

/** Evaluates an expression. @throws Error with the evaluation error */
export function evaluate(program: Program, variables: Readonly<Record<string, unknown>>): Value {
  const outcome = program.evaluate(variables, costLimits.call);
  if (outcome.error !== undefined) throw new Error(outcome.error);
  return outcome.value;
}

/** CEL environments of `claims` and `user`; created lazily, since that is expensive. */
export class Environments {
  private ofClaims: Environment | undefined;

  get claims(): Environment {
    this.ofClaims ??= Environment.kubernetes({ variables: { claims: mapOf(string, dyn) } });
    return this.ofClaims;
  }

  get user(): Environment {
    return this.claims.extend({ variables: { user: userType } });
  }
}

const userFields = new Map([
  ["username", string],
  ["uid", string],
  ["groups", listOf(string)],
  ["extra", mapOf(string, listOf(string))],
]);

const userType = objectOf({
  name: "kubernetes.UserInfo",
  field: (name) => {
    const type = userFields.get(name);
    return type && { key: name, type };
  },
});

class Compiler {
  constructor(
    private readonly environments: Environments,
    private readonly problems: Problems,
  ) {}

  claimRules({ claimValidationRules }: JwtConfiguration, path: Path): readonly Rule[] {
    const { problems } = this;
    const seen = new Set<string>();
    return (claimValidationRules ?? []).flatMap((rule, index) => {
      const own = path.index(index);
      const { claim = "", requiredValue = "", expression = "", message = "" } = rule;
      const isSeen = seen.has(`${claim} ${expression}`);
      seen.add(`${claim} ${expression}`);
      if (claim !== "" && expression !== "") {
        problems.invalid(own, claim, "claim and expression can't both be set");
        return [];
      }
      if (claim === "" && expression === "") {
        problems.required(own, "claim or expression is required");
        return [];
      }
      if (claim !== "") {
        if (isSeen) problems.duplicate(own.child("claim"), claim);
        if (message === "") return [];
        problems.invalid(own.child("message"), message, "may not be specified when claim is set");
        return [];
      }
      if (requiredValue !== "") {
        const detail = "may not be specified when expression is set";
        problems.invalid(own.child("requiredValue"), requiredValue, detail);
      }
      if (isSeen) problems.duplicate(own.child("expression"), expression);
      const program = this.condition(expression, own.child("expression"), "claims");
      return program === undefined ? [] : [{ expression, message, program }];
    });
  }

  userRules({ userValidationRules }: JwtConfiguration, path: Path): readonly Rule[] {
    const seen = new Set<string>();
    return (userValidationRules ?? []).flatMap(({ expression = "", message = "" }, index) => {
      const own = path.index(index).child("expression");
      if (expression === "") {
        this.problems.required(own);
        return [];
      }
      if (seen.has(expression)) this.problems.duplicate(own, expression);
      seen.add(expression);
      const program = this.condition(expression, own, "user");
      return program === undefined ? [] : [{ expression, message, program }];
    });
  }

  mapping(mapping: ClaimMapping, path: Path, isRequired: boolean): Program | undefined {
    const { claim = "", prefix, expression = "" } = mapping;
    const { problems } = this;
    if (claim !== "" && expression !== "") {
      problems.invalid(path, "", "claim and expression can't both be set");
      return undefined;
    }
    if (claim === "" && expression === "") {
      if (isRequired) problems.required(path, "claim or expression is required");
      if (prefix) problems.invalid(path.child("prefix"), prefix, "needs claim");
      return undefined;
    }
    if (claim !== "") {
      const detail = "prefix is required when claim is set. It can be set to an empty string";
      if (typeof prefix !== "string") problems.required(path.child("prefix"), detail);
      return undefined;
    }
    if (typeof prefix === "string") {
      problems.invalid(path.child("prefix"), prefix, "prefix can't be set when expression is set");
    }
    return this.compiled(expression, path.child("expression"), "claims");
  }

  uid(
    { claim = "", expression = "" }: JwtConfiguration["claimMappings"]["uid"],
    path: Path,
  ): Program | undefined {
    if (expression === "") return undefined;
    if (claim !== "") {
      this.problems.invalid(path, "", "claim and expression can't both be set");
      return undefined;
    }
    return this.compiled(expression, path.child("expression"), "claims");
  }

  extra(
    mappings: readonly { readonly key?: string; readonly valueExpression?: string }[],
    path: Path,
    domain: Domain,
  ): Rules["extra"] {
    const seen = new Set<string>();
    return mappings.flatMap(({ key = "", valueExpression = "" }, index) => {
      const own = path.index(index);
      checkExtraKey(key, own.child("key"), { problems: this.problems, domain });
      if (seen.has(key)) this.problems.duplicate(own.child("key"), key);
      seen.add(key);
      if (valueExpression === "") {
        this.problems.required(own.child("valueExpression"));
        return [];
      }
      const program = this.compiled(valueExpression, own.child("valueExpression"), "claims");
      return program === undefined ? [] : [{ key, program }];
    });
  }

  /** Compiles an expression that must evaluate to bool. */
  private condition(text: string, path: Path, variable: "claims" | "user"): Program | undefined {
    const program = this.compiled(text, path, variable);
    if (program === undefined || program.type.kind === bool.kind) return program;
    const detail = `must evaluate to bool, not ${formatType(program.type)}`;
    this.problems.invalid(path, text, detail);
    return undefined;
  }

  private compiled(text: string, path: Path, variable: "claims" | "user"): Program | undefined {
    const { program, reason } = compile(text, this.environments[variable]);
    if (program === undefined) this.problems.invalid(path, text, reason);
    return program;
  }
}

/** Validates a key of extra: `example.org/department`, lower case, not in Kubernetes' domains. */
function checkExtraKey(
  key: string,
  path: Path,
  { problems, domain }: { readonly problems: Problems; readonly domain: Domain },
): void {
  const slash = key.indexOf("/");
  const host = key.slice(0, Math.max(slash, 0));
  if (key === "") return problems.required(path);
  if (slash < 0 || slash === key.length - 1 || isDns1123Subdomain(host).length > 0) {
    problems.invalid(path, key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  }
  if (key !== key.toLowerCase()) problems.invalid(path, key, "must be lowercase");
  const isReserved = [domain.api, domain.label].some(
    (reserved) => host === reserved || host.endsWith(`.${reserved}`),
  );
  if (isReserved) {
    const names = `${domain.api}, ${domain.label}`;
    problems.invalid(path, key, `${names} and their subdomains are reserved`);
  }
}

const email = /\bclaims\s*(?:\.\s*\??\s*email\b|\[\s*\??\s*(["'])email\1\s*\])/;
const emailVerified =
  /\bclaims\s*(?:\.\s*\??\s*email_verified\b|\[\s*\??\s*(["'])email_verified\1\s*\])/;

/** A user name from `claims.email` requires an expression that uses `claims.email_verified`. */
function checkEmail(
  { claimMappings, claimValidationRules }: JwtConfiguration,
  path: Path,
  problems: Problems,
): void {
  const { username, extra } = claimMappings;
  const { expression = "" } = username;
  if (!email.test(expression)) return;
  const expressions = [
    expression,
    ...(extra ?? []).map(({ valueExpression = "" }) => valueExpression),
    ...(claimValidationRules ?? []).map((rule) => rule.expression ?? ""),
  ];
  if (expressions.some((text) => emailVerified.test(text))) return;
  const detail =
    "claims.email_verified must be used in claimMappings.username.expression or " +
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression " +
    "when claims.email is used in claimMappings.username.expression";
  problems.invalid(path, expression, detail);
}
