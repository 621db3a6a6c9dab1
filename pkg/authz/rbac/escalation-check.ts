/**
 * RBAC privilege-escalation check: a user may grant only permissions that they hold, or needs the
 * verb `escalate` (roles) or `bind` (bindings).
 */
import {
  badRequest,
  type Domain,
  forbidden,
  goQuote,
  notFound,
  plainFailure,
  resolve,
  StatusError,
} from "#meta";
import {
  type AdmissionAttributes,
  type AdmissionHandler,
  onlyChangesGarbageCollection,
} from "#registry";
import { type Authorizer, type PolicyRule, resourceRequestInfo, type User } from "#request";
import type { RbacAuthorizer } from "./rbac-authorizer.ts";
import { listRules, uncoveredRules, quoteList } from "./policy-rules.ts";

export interface EscalationOptions {
  readonly rbac: RbacAuthorizer;
  /** Authorizer of the verbs `escalate` and `bind`. */
  readonly authorizer: Authorizer;
  readonly domain: Domain;
}

/** All permissions, which an aggregated role may acquire. */
const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/**
 * Rejects roles and bindings that would grant permissions that the user does not hold. Runs after mutating
 * admission, before validation.
 */
export function rbacEscalationCheck(options: EscalationOptions): AdmissionHandler {
  const group = resolve("rbac.authorization.{api}", options.domain);
  return (attributes) => {
    const { request, operation } = attributes;
    if (request.resource.group !== group || operation === "delete") return undefined;
    if (request.user.groups.includes("system:masters")) return undefined;
    if (onlyChangesGarbageCollection(attributes)) return undefined;
    return check(options, attributes);
  };
}

async function check(
  options: EscalationOptions,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const escalation = new EscalationCheck(options, attributes);
  if (attributes.request.resource.plural.endsWith("bindings")) await escalation.checkBinding();
  else await escalation.checkRole();
  return [];
}

const roleResources: Readonly<Record<string, string>> = {
  Role: "roles",
  ClusterRole: "clusterroles",
};

/** Check of one write. */
class EscalationCheck {
  private readonly user: User;

  constructor(
    private readonly options: EscalationOptions,
    private readonly attributes: AdmissionAttributes,
  ) {
    this.user = attributes.request.user;
  }

  async checkRole(): Promise<void> {
    const { object, old, request } = this.attributes;
    const { plural } = request.resource;
    if (await this.may("escalate", { resource: plural, name: request.name })) return;
    this.requireHeld(object.rules ?? []);
    const aggregates = Boolean(object.aggregationRule ?? old?.aggregationRule);
    if (aggregates && this.problem(fullAuthority) !== "") {
      throw this.forbidden("must have cluster-admin privileges to use the aggregationRule");
    }
  }

  async checkBinding(): Promise<void> {
    const { object, request } = this.attributes;
    const { kind, name } = object.roleRef;
    const resource = roleResources[kind];
    if (resource === undefined) {
      throw plainFailure(`unsupported role reference kind: ${goQuote(kind)}`);
    }
    if (await this.may("bind", { resource, name })) return;
    // As in Kubernetes, the role lookup fails before validation rejects the binding.
    if (kind === "Role" && request.namespace === "") {
      throw badRequest("Namespace parameter required.");
    }
    if (name === "") throw badRequest("Name parameter required.");
    const rules = this.options.rbac.rulesOfRole(object.roleRef, request.namespace);
    if (rules === undefined) throw notFound(request.resource, name);
    this.requireHeld(rules);
  }

  /** Whether the user has the verb on a role, so that the check does not apply. */
  private async may(
    verb: string,
    { resource, name }: { readonly resource: string; readonly name: string },
  ): Promise<boolean> {
    const { namespace, resource: written } = this.attributes.request;
    const { group } = written;
    const request = resourceRequestInfo({ verb, group, version: "*", namespace, resource, name });
    const decision = await this.options.authorizer.authorize({ user: this.user, request });
    return decision.verdict === "allow";
  }

  /** @throws StatusError 403 if the user may not grant these rules */
  private requireHeld(rules: readonly PolicyRule[]): void {
    const problem = this.problem(rules);
    if (problem !== "") throw this.forbidden(problem);
  }

  /** Error if the user may not grant these rules; "" = allowed. */
  private problem(wanted: readonly PolicyRule[]): string {
    const held = this.options.rbac.rules(this.user, this.attributes.request.namespace);
    const missing = uncoveredRules(held.rules, wanted);
    if (missing.length === 0) return "";
    const { name, groups } = this.user;
    const message =
      `user ${goQuote(name)} (groups=${quoteList(groups)}) is attempting to grant ` +
      `RBAC permissions not currently held:\n${listRules(missing)}`;
    return held.error === "" ? message : `${message}; resolution errors: ${held.error}`;
  }

  private forbidden(problem: string): StatusError {
    const { request, object } = this.attributes;
    return forbidden(request.resource, object.metadata.name ?? "", problem);
  }
}
