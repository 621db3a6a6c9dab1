/** Authorizers, as flags or an AuthorizationConfiguration configure them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  alwaysAllow,
  alwaysDeny,
  type AuthorizationMode,
  type ConfiguredAuthorizer,
  unionAuthorizer,
  superuserAuthorizer,
  parseAuthorizationConfiguration,
  abacAuthorizer,
  WebhookAuthorizer,
} from "#authz";
import type { Clock } from "#base";
import { ConfigurationFault, type Domain } from "#meta";
import {
  type AuthorizationAttributes,
  type Authorizer,
  KubeconfigFault,
  parseKubeconfig,
  type Tracer,
  type User,
  type WebhookClient,
  webhookClient,
} from "#request";
import { type FileReloader, fromFlag, type TextSource } from "../files/file-reloader.ts";

export interface AuthorizationWebhook {
  readonly kubeconfigFile: string;
  /** API version of sent SubjectAccessReviews; default v1beta1, as in Kubernetes. */
  readonly version?: "v1" | "v1beta1";
  /** Time in ms for which `allowed` responses are cached; default 5 minutes. */
  readonly authorizedMs?: number;
  /** Time in ms for which other responses are cached; default 30 seconds. */
  readonly unauthorizedMs?: number;
}

export interface AuthorizationOptions {
  /** In order; default RBAC. */
  readonly modes?: readonly AuthorizationMode[];
  /** Policy of the ABAC authorizer: one JSON object per line. */
  readonly policies?: string;
  /** The webhook of mode Webhook. */
  readonly webhook?: AuthorizationWebhook;
  /** An AuthorizationConfiguration (YAML or JSON), in place of modes. */
  readonly configuration?: TextSource;
}

export interface AuthorizerParts {
  readonly clock: Clock;
  readonly domain: Domain;
  /** The authorizers that decide from watched objects. */
  readonly rbac: Authorizer;
  readonly nodes: Authorizer;
  readonly report: (what: string, error: unknown) => void;
  readonly files: FileReloader;
  readonly tracer: Tracer;
  /** Closes connections to webhooks. */
  readonly life: AbortSignal;
}

/** Time in ms for which a replaced webhook stays open for requests in flight. */
const lingerMs = 60_000;
const webhookTimeoutMs = 30_000;
const defaultAuthorizedMs = 300_000;
const defaultUnauthorizedMs = 30_000;

/** The configured authorizers. A reloaded configuration replaces them. */
export class ConfiguredAuthorizers implements Authorizer {
  private inForce: Authorizer = alwaysDeny;
  private clients: readonly WebhookClient[] = [];
  private known: ReadonlySet<string> | undefined;

  private readonly policies: Authorizer | undefined;

  /** @throws ConfigurationFault, or FileError for a file. */
  constructor(
    options: AuthorizationOptions,
    private readonly parts: AuthorizerParts,
  ) {
    const { configuration, policies } = options;
    if (policies !== undefined) {
      const made = () => abacAuthorizer(policies, parts.domain);
      this.policies = fromFlag("authorization-policy-file", made);
    }
    if (configuration === undefined) this.take(flagged(options));
    else {
      const apply = (text = "") => this.take(this.parsed(text));
      parts.files.use([configuration], apply, "authorization");
    }
    parts.life.addEventListener("abort", () => close(this.clients), { once: true });
  }

  /** Types of the configured authorizers, without webhooks. */
  get types(): ReadonlySet<string> {
    return this.known ?? new Set();
  }

  authorize(attributes: AuthorizationAttributes): ReturnType<Authorizer["authorize"]> {
    return this.inForce.authorize(attributes);
  }

  rules(user: User, namespace: string) {
    const nothing = { rules: [], incomplete: true, error: "" };
    return this.inForce.rules?.(user, namespace) ?? nothing;
  }

  /**
   * Replaces the webhooks. Other authorizers watch objects from the start, so their set is fixed.
   */
  private take(configured: readonly ConfiguredAuthorizer[]): void {
    const types = typesOf(configured);
    const { known = types } = this;
    if (types.size !== known.size || [...types].some((type) => !known.has(type))) {
      throw new ConfigurationFault(
        "authorizers other than webhooks cannot be added or removed while the server runs",
      );
    }
    this.known = types;
    const old = this.clients;
    this.inForce = this.made(configured);
    if (old.length === 0) return;
    const linger = this.parts.clock.sleep(lingerMs, this.parts.life, { background: true });
    linger.then(
      () => close(old),
      () => close(old),
    );
  }

  private parsed(text: string): readonly ConfiguredAuthorizer[] {
    return parseAuthorizationConfiguration(text, this.parts.domain);
  }

  private made(configured: readonly ConfiguredAuthorizer[]): Authorizer {
    const { rbac, nodes } = this.parts;
    const clients: WebhookClient[] = [];
    const authorizers = configured.map((each): Authorizer => {
      switch (each.type) {
        case "ABAC":
          return this.ofAttributes();
        case "AlwaysAllow":
          return alwaysAllow;
        case "AlwaysDeny":
          return alwaysDeny;
        case "Node":
          return nodes;
        case "RBAC":
          return rbac;
        case "Webhook":
          return this.webhook(each, clients);
      }
    });
    this.clients = clients;
    return unionAuthorizer([superuserAuthorizer, ...authorizers]);
  }

  private ofAttributes(): Authorizer {
    if (this.policies !== undefined) return this.policies;
    throw new ConfigurationFault("authorization-mode ABAC's authorization policy file not passed");
  }

  private webhook(
    { name, webhook }: Extract<ConfiguredAuthorizer, { readonly type: "Webhook" }>,
    clients: WebhookClient[],
  ): Authorizer {
    const { clock, domain, report, tracer } = this.parts;
    const endpoint = endpointOf(webhook.kubeconfigFile);
    const client = webhookClient({ endpoint, timeoutMs: webhook.timeoutMs, clock, tracer });
    clients.push(client);
    const onFault = (error: unknown) => report(`Authorization webhook ${name} failed`, error);
    return new WebhookAuthorizer({ ...webhook, client, clock, domain, report: onFault });
  }
}

function typesOf(configured: readonly ConfiguredAuthorizer[]): ReadonlySet<string> {
  return new Set(configured.map(({ type }) => type).filter((type) => type !== "Webhook"));
}

function close(clients: readonly WebhookClient[]): void {
  for (const client of clients) client.close();
}

/** Converts modes to an AuthorizationConfiguration. */
function flagged({ modes = ["RBAC"], webhook }: AuthorizationOptions) {
  return modes.map((type): ConfiguredAuthorizer => {
    const name = type.toLowerCase();
    if (type !== "Webhook") return { type, name };
    if (webhook === undefined) {
      const story = "authorization-mode Webhook's authorization config file not passed";
      throw new ConfigurationFault(story);
    }
    const settings = {
      kubeconfigFile: webhook.kubeconfigFile,
      version: webhook.version ?? "v1beta1",
      timeoutMs: webhookTimeoutMs,
      authorizedMs: webhook.authorizedMs ?? defaultAuthorizedMs,
      unauthorizedMs: webhook.unauthorizedMs ?? defaultUnauthorizedMs,
      onFailure: "no-opinion",
      conditions: [],
    } as const;
    return { type, name, webhook: settings };
  });
}

/** Reads a kubeconfig. Relative paths of files in it are relative to its directory. */
function endpointOf(file: string) {
  try {
    const folder = path.dirname(file);
    const text = readFileSync(file, "utf8");
    return parseKubeconfig(text, (named) => readFileSync(path.resolve(folder, named), "utf8"));
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "" && !(error instanceof KubeconfigFault)) throw error;
    throw new ConfigurationFault(`${file}: ${message}`);
  }
}
