/** ABAC authorizer: a file with one policy per line (`--authorization-mode=ABAC`). */
import { isJsonObject, type JsonObject } from "#base";
import { ConfigurationFault, type Domain, resolve } from "#meta";
import { JsonFault, parseJson } from "#schema";
import type { AuthorizationAttributes, Authorizer, KnownRules, User } from "#request";

/** A policy: in each field, "" matches nothing and `*` everything. */
interface Policy {
  readonly user: string;
  readonly group: string;
  readonly isReadonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  /** May end in `*`. */
  readonly nonResourcePath: string;
}

const authenticated = "system:authenticated";
const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/**
 * Parses an ABAC policy file. Skips empty lines and comments (`#`).
 * @throws ConfigurationFault that names the line
 */
export function abacAuthorizer(text: string, domain: Domain): Authorizer {
  const policies = text.split("\n").flatMap((line, index): readonly Policy[] => {
    const json = line.trim();
    if (json === "" || json.startsWith("#")) return [];
    try {
      return [policyOf(json, domain)];
    } catch (error) {
      if (!(error instanceof ConfigurationFault || error instanceof JsonFault)) throw error;
      throw new ConfigurationFault(`line ${index + 1}: ${json}: ${error.message}`);
    }
  });
  return {
    authorize: (attributes) =>
      policies.some((policy) => allows(policy, attributes))
        ? { verdict: "allow", reason: "" }
        : { verdict: "no-opinion", reason: "No policy matched." },
    rules: (user, namespace) => rulesOf(policies, user, namespace),
  };
}

function policyOf(line: string, domain: Domain): Policy {
  const { value } = parseJson(Buffer.from(line));
  const { apiVersion, kind, spec, ...old } = fieldsOf(value);
  if (apiVersion === undefined && kind === undefined) return unversioned(old);
  const group = resolve("abac.authorization.{label}", domain);
  if (kind !== "Policy" || ![`${group}/v1beta1`, `${group}/v0`].includes(String(apiVersion))) {
    throw new ConfigurationFault(`no kind ${String(kind)} is known in ${String(apiVersion)}`);
  }
  if (String(apiVersion).endsWith("/v0")) return unversioned(old);
  const fields = fieldsOf(spec);
  return {
    ...subjectOf(fields),
    isReadonly: fields["readonly"] === true,
    apiGroup: textOf(fields["apiGroup"]),
    resource: textOf(fields["resource"]),
    namespace: textOf(fields["namespace"]),
    nonResourcePath: textOf(fields["nonResourcePath"]),
  };
}

/** Parses the unversioned format, in which omitted fields match everything. */
function unversioned(fields: JsonObject): Policy {
  const [namespace, resource] = [textOf(fields["namespace"]), textOf(fields["resource"])];
  const subject = subjectOf(fields);
  const isForAnyUser = subject.user === "" && subject.group === "";
  return {
    ...subject,
    ...(isForAnyUser ? { group: authenticated } : {}),
    isReadonly: fields["readonly"] === true,
    apiGroup: "*",
    resource: resource || "*",
    namespace: namespace || "*",
    nonResourcePath: namespace === "" && resource === "" ? "*" : "",
  };
}

/** User and group; `*` for both means group `system:authenticated`. */
function subjectOf(fields: JsonObject): Pick<Policy, "user" | "group"> {
  const [user, group] = [textOf(fields["user"]), textOf(fields["group"])];
  return user === "*" || group === "*" ? { user: "", group: authenticated } : { user, group };
}

function fieldsOf(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new ConfigurationFault("a policy must be a JSON object");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function allows(policy: Policy, { user, request }: AuthorizationAttributes): boolean {
  if (!matchesUser(policy, user)) return false;
  if (policy.isReadonly && !readVerbs.has(request.verb)) return false;
  if (!request.isResource) return matchesPath(policy.nonResourcePath, request.path);
  return (
    matches(policy.namespace, request.namespace) &&
    matches(policy.resource, request.resource) &&
    matches(policy.apiGroup, request.group)
  );
}

/** Whether a policy matches a user; with both user and group, both must match. */
function matchesUser({ user: name, group }: Policy, user: User): boolean {
  if (name === "" && group === "") return false;
  return (name === "" || name === user.name) && (group === "" || user.groups.includes(group));
}

function matches(pattern: string, value: string): boolean {
  return pattern === "*" || pattern === value;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern.endsWith("*")) return path.startsWith(pattern.replace(/\*+$/, ""));
  return pattern === path;
}

function rulesOf(policies: readonly Policy[], user: User, namespace: string): KnownRules {
  const rules = policies
    .filter((policy) => matchesUser(policy, user) && matches(policy.namespace, namespace))
    .flatMap(({ isReadonly, apiGroup, resource, nonResourcePath }) => {
      const verbs = isReadonly ? [...readVerbs] : ["*"];
      return [
        ...(resource === "" ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
        ...(nonResourcePath === "" ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
      ];
    });
  return { rules, incomplete: false, error: "" };
}
