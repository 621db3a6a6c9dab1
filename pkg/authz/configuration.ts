/** AuthorizationConfiguration: the file of `--authorization-config`, an ordered list of authorizers. */
import type { Program } from "#cel";
import {
  decodeConfiguration,
  type Domain,
  duration,
  isDns1123Subdomain,
  parseDuration,
  refuseProblems,
  resolve,
} from "#meta";
import {
  required,
  bool,
  type Infer,
  list,
  pointer,
  Path,
  value,
  Problems,
  string,
  structs,
} from "#schema";
import { type CompileCondition, conditionCompiler } from "./webhook/match-conditions.ts";

const v1 = structs("apiserver/pkg/apis/apiserver/v1");

const connectionInfo = v1("WebhookConnectionInfo", "How to connect to the webhook.", {
  type: required(1, string, "KubeConfigFile."),
  kubeConfigFile: pointer(2, string, "Absolute path of a kubeconfig file."),
});

const matchCondition = v1("WebhookMatchCondition", "Condition for calling the webhook.", {
  expression: required(
    1,
    string,
    "CEL expression over `request`, the spec of a SubjectAccessReview.",
  ),
});

const webhookStruct = v1("WebhookConfiguration", "Webhook authorizer.", {
  authorizedTTL: required(1, duration, "Cache TTL of allowed requests; default 5m."),
  cacheAuthorizedRequests: pointer(9, bool, "Whether to cache allowed requests; default true."),
  unauthorizedTTL: required(2, duration, "Cache TTL of other decisions; default 30s."),
  cacheUnauthorizedRequests: pointer(10, bool, "Whether to cache other decisions; default true."),
  timeout: required(3, duration, "Timeout of a call, at most 30s."),
  subjectAccessReviewVersion: required(4, string, "v1 or v1beta1."),
  matchConditionSubjectAccessReviewVersion: required(5, string, "v1."),
  failurePolicy: required(6, string, "NoOpinion or Deny."),
  connectionInfo: required(7, connectionInfo, "How to connect to the webhook."),
  matchConditions: value(8, list(matchCondition), "Conditions that must all be true for a call."),
});

const authorizerStruct = v1("AuthorizerConfiguration", "One authorizer.", {
  type: required(1, string, "ABAC, Node, RBAC, Webhook, AlwaysAllow or AlwaysDeny."),
  name: required(2, string, "Unique name, for metrics and messages."),
  webhook: pointer(3, webhookStruct, "Required for type Webhook, forbidden for others."),
});

const configurationStruct = v1("AuthorizationConfiguration", "Configuration of authorization.", {
  authorizers: value(
    1,
    list(authorizerStruct),
    "Authorizers in order; the first with an opinion decides.",
  ),
});

type Webhook = Infer<typeof webhookStruct>;

export const authorizationModes = [
  "ABAC",
  "AlwaysAllow",
  "AlwaysDeny",
  "Node",
  "RBAC",
  "Webhook",
] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

export interface WebhookSettings {
  readonly kubeconfigFile: string;
  readonly version: "v1" | "v1beta1";
  readonly timeoutMs: number;
  /** Cache TTL of allowed requests; 0 = not cached. */
  readonly authorizedMs: number;
  /** Cache TTL of others; 0 = not cached. */
  readonly unauthorizedMs: number;
  readonly onFailure: "no-opinion" | "deny";
  readonly conditions: readonly Program[];
}

/** An authorizer in a validated configuration. */
export type ConfiguredAuthorizer =
  | { readonly type: Exclude<AuthorizationMode, "Webhook">; readonly name: string }
  | { readonly type: "Webhook"; readonly name: string; readonly webhook: WebhookSettings };

const versions = ["v1", "v1beta1", "v1alpha1"].map(
  (version) => `apiserver.config.{api}/${version}`,
);

/**
 * Strictly parses an AuthorizationConfiguration (YAML or JSON).
 * @throws ConfigurationFault
 */
export function parseAuthorizationConfiguration(
  text: string,
  domain: Domain,
): readonly ConfiguredAuthorizer[] {
  const known = versions.map((version) => resolve(version, domain));
  const { authorizers = [] } = decodeConfiguration(text, configurationStruct, known);
  const check = new ConfigurationCheck(conditionCompiler());
  const configured = check.all(authorizers);
  refuseProblems(check.problems);
  return configured;
}

const maxConditions = 64;
const maxCallMs = 30_000;
const defaultAuthorizedMs = 300_000;
const defaultUnauthorizedMs = 30_000;

/** Validates an AuthorizationConfiguration by Kubernetes' rules, with its messages. */
class ConfigurationCheck {
  readonly problems = new Problems();

  constructor(private readonly compile: CompileCondition) {}

  all(authorizers: readonly Infer<typeof authorizerStruct>[]): readonly ConfiguredAuthorizer[] {
    const path = Path.of("authorizers");
    if (authorizers.length === 0) {
      this.problems.required(path, "at least one authorization mode must be defined");
    }
    const types = new Set<string>();
    const names = new Set<string>();
    return authorizers.flatMap(({ type, name, webhook }, index) => {
      const itemPath = path.index(index);
      const mode = this.mode(type, types, itemPath.child("type"));
      this.name(name, names, itemPath.child("name"));
      if (mode === "Webhook") {
        if (webhook !== undefined) {
          return { type: mode, name, webhook: this.webhook(webhook, itemPath.child("webhook")) };
        }
        this.problems.required(itemPath.child("webhook"), "required when type=Webhook");
        return [];
      }
      if (webhook !== undefined) {
        const detail = "may only be specified when type=Webhook";
        this.problems.invalid(itemPath.child("webhook"), "non-null", detail);
      }
      return mode === undefined ? [] : { type: mode, name };
    });
  }

  private mode(type: string, seen: Set<string>, path: Path): AuthorizationMode | undefined {
    const mode = authorizationModes.find((known) => known === type);
    if (type === "") this.problems.required(path);
    else if (mode === undefined) this.problems.notSupported(path, type, authorizationModes);
    else if (mode !== "Webhook" && seen.has(mode)) this.problems.duplicate(path, type);
    seen.add(type);
    return mode;
  }

  private name(name: string, seen: Set<string>, path: Path): void {
    const faults = isDns1123Subdomain(name);
    if (name === "") this.problems.required(path);
    else if (seen.has(name)) this.problems.duplicate(path, name);
    else if (faults.length > 0) {
      const detail = `authorizer name is invalid: ${faults.join(", ")}`;
      this.problems.invalid(path, name, detail);
    }
    seen.add(name);
  }

  private webhook(webhook: Webhook, path: Path): WebhookSettings {
    const authorized = milliseconds(webhook.authorizedTTL) || defaultAuthorizedMs;
    const unauthorized = milliseconds(webhook.unauthorizedTTL) || defaultUnauthorizedMs;
    const timeoutMs = milliseconds(webhook.timeout);
    const { subjectAccessReviewVersion, failurePolicy } = webhook;
    this.timeout(webhook.timeout, path.child("timeout"));
    this.positive(authorized, webhook.authorizedTTL, path.child("authorizedTTL"));
    this.positive(unauthorized, webhook.unauthorizedTTL, path.child("unauthorizedTTL"));
    const version = path.child("subjectAccessReviewVersion");
    this.oneOf(subjectAccessReviewVersion, ["v1", "v1beta1"], version);
    const conditions = this.conditions(webhook, path);
    this.oneOf(failurePolicy, ["NoOpinion", "Deny"], path.child("failurePolicy"));
    return {
      kubeconfigFile: this.connection(webhook, path.child("connectionInfo")),
      version: subjectAccessReviewVersion === "v1beta1" ? "v1beta1" : "v1",
      timeoutMs,
      authorizedMs: (webhook.cacheAuthorizedRequests ?? true) ? authorized : 0,
      unauthorizedMs: (webhook.cacheUnauthorizedRequests ?? true) ? unauthorized : 0,
      onFailure: failurePolicy === "Deny" ? "deny" : "no-opinion",
      conditions,
    };
  }

  private timeout(text: string, path: Path): void {
    const value = milliseconds(text);
    if (value === 0) this.problems.required(path);
    else if (value < 0 || value > maxCallMs) {
      this.problems.invalid(path, text, "must be > 0s and <= 30s");
    }
  }

  private positive(value: number, text: string, path: Path): void {
    if (value <= 0) this.problems.invalid(path, text, "must be > 0s");
  }

  private oneOf(value: string, known: readonly string[], path: Path): void {
    if (value === "") this.problems.required(path);
    else if (!known.includes(value)) this.problems.notSupported(path, value, known);
  }

  private connection({ connectionInfo: { type, kubeConfigFile } }: Webhook, path: Path): string {
    const file = path.child("kubeConfigFile");
    this.oneOf(type, ["KubeConfigFile"], path.child("type"));
    if (type !== "KubeConfigFile") return "";
    if (!kubeConfigFile) this.problems.required(file);
    else if (!kubeConfigFile.startsWith("/")) {
      this.problems.invalid(file, kubeConfigFile, "must be an absolute path");
    }
    return kubeConfigFile ?? "";
  }

  private conditions(webhook: Webhook, path: Path): readonly Program[] {
    const { matchConditions = [], matchConditionSubjectAccessReviewVersion } = webhook;
    const version = path.child("matchConditionSubjectAccessReviewVersion");
    if (matchConditions.length > 0 || matchConditionSubjectAccessReviewVersion !== "") {
      this.oneOf(matchConditionSubjectAccessReviewVersion, ["v1"], version);
    }
    const listPath = path.child("matchConditions");
    if (matchConditions.length > maxConditions) {
      this.problems.tooMany(listPath, matchConditions.length, maxConditions);
      return [];
    }
    const seen = new Set<string>();
    return matchConditions.flatMap(({ expression }, index) => {
      const expressionPath = listPath.index(index).child("expression");
      if (expression.trim() === "") this.problems.required(expressionPath);
      else if (seen.has(expression)) this.problems.duplicate(expressionPath, expression);
      else {
        seen.add(expression);
        const compiled = this.compile(expression);
        if (compiled.program !== undefined) return [compiled.program];
        this.problems.invalid(expressionPath, expression, compiled.fault);
      }
      return [];
    });
  }
}

function milliseconds(text: string): number {
  return Number(parseDuration(text)) / 1_000_000;
}
