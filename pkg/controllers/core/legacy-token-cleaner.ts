import type { Informer } from "#client";
import {
  configMaps,
  type Pod,
  pods as podHandle,
  type Secret,
  secrets,
  type ServiceAccount,
  serviceAccounts,
} from "#kinds";
import { ignoreNotFound, isConflict, resolve } from "#meta";
import { ByNamespace } from "../by-namespace.ts";
import type { ControllerContext } from "../controller-context.ts";
import { secretsOf } from "./pod-secrets.ts";

export interface LegacyTokenCleanerOptions {
  /** Time in ms from the last use of a token to its invalidation, and from there to its deletion. */
  readonly legacyTokenCleanUpMs: number;
}

const dayMs = 86_400_000;
const intervalMs = dayMs;
/** kube-controller-manager's default: one year. */
export const defaultLegacyTokenCleanUpMs = 365 * dayMs;
const trackingConfigMap = "kube-apiserver-legacy-service-account-token-tracking";

/**
 * Deletes unused auto-generated service account token Secrets: one that no request and no pod has used for
 * the period gets the label `legacy-token-invalid-since`, and is deleted after another period. Days are UTC.
 */
export async function runLegacyTokenCleaner(
  context: ControllerContext,
  { legacyTokenCleanUpMs }: LegacyTokenCleanerOptions,
): Promise<void> {
  const { clock, informers, signal, report } = context;
  const cleaner = new LegacyTokenCleaner(context, legacyTokenCleanUpMs);
  await cleaner.untilSynced(informers.of(podHandle));
  while (!signal.aborted) {
    await cleaner.clean().catch((error: unknown) => {
      if (!signal.aborted) report("Failed to clean up legacy service account tokens", error);
    });
    await clock.sleep(intervalMs, signal, { background: true }).catch(() => undefined);
  }
}

class LegacyTokenCleaner {
  private readonly tokens: Informer<Secret>;
  private readonly accounts: Informer<ServiceAccount>;
  private readonly podsIn: ByNamespace<Pod>;
  private readonly type: string;
  private readonly label: (name: string) => string;

  constructor(
    private readonly context: ControllerContext,
    private readonly periodMs: number,
  ) {
    const { client, informers } = context;
    this.label = (name) => resolve(`{label}/${name}`, client.domain);
    this.type = this.label("service-account-token");
    this.tokens = informers.of(secrets, { fieldSelector: `type=${this.type}` });
    this.accounts = informers.of(serviceAccounts);
    this.podsIn = new ByNamespace(informers.of(podHandle));
  }

  async untilSynced(pods: Informer<Pod>): Promise<void> {
    await Promise.all([this.tokens, this.accounts, pods].map((each) => each.untilSynced()));
  }

  async clean(): Promise<void> {
    const { clock, report } = this.context;
    const now = clock.now();
    // Last use is tracked by day, and the first day only in part.
    if (now < (await this.trackedSince()) + dayMs + this.periodMs) return;
    const keptFrom = now - this.periodMs;
    for (const secret of this.tokens.all()) {
      if (!this.isUnused(secret, keptFrom)) continue;
      await this.invalidate(secret, keptFrom).catch((error: unknown) => {
        const { namespace, name } = secret.metadata;
        report(`Failed to clean up the token ${namespace}/${name}`, error);
      });
    }
  }

  /** Day since which the API server labels tokens with their last use, in ms since 1970. */
  private async trackedSince(): Promise<number> {
    const at = { namespace: "kube-system", name: trackingConfigMap };
    const { data = {} } = await this.context.client.get(configMaps, at);
    const since = parseDay(data["since"]);
    if (since === undefined) throw new Error(`ConfigMap ${at.name} has no valid date in "since"`);
    return since;
  }

  private isUnused(secret: Secret, keptFrom: number): boolean {
    const { metadata } = secret;
    const { creationTimestamp = "", deletionTimestamp, labels = {} } = metadata;
    if (deletionTimestamp !== undefined || Date.parse(creationTimestamp) >= keptFrom) return false;
    const lastUsed = labels[this.label("legacy-token-last-used")];
    if (lastUsed !== undefined) {
      const day = parseDay(lastUsed);
      // An invalid label counts as used.
      if (day === undefined || lastUsed >= formatDay(keptFrom)) return false;
    }
    return this.isGenerated(secret) && !this.isMounted(secret);
  }

  /** Whether a token was auto-generated: only those are listed in `secrets` of their ServiceAccount. */
  private isGenerated({ metadata }: Secret): boolean {
    const { namespace = "", name, annotations = {} } = metadata;
    const owner = annotations[this.label("service-account.name")] ?? "";
    const uid = annotations[this.label("service-account.uid")] ?? "";
    const account = this.accounts.get(`${namespace}/${owner}`);
    if (account === undefined || (uid !== "" && uid !== account.metadata.uid)) return false;
    return (account.secrets ?? []).some((each) => each.name === name);
  }

  private isMounted({ metadata: { namespace = "", name } }: Secret): boolean {
    for (const pod of this.podsIn.in(namespace)) if (secretsOf(pod).has(name)) return true;
    return false;
  }

  private async invalidate({ metadata }: Secret, keptFrom: number): Promise<void> {
    const { client, clock } = this.context;
    const { namespace = "", name, uid, resourceVersion, labels = {} } = metadata;
    const label = this.label("legacy-token-invalid-since");
    const since = labels[label] ?? "";
    if (parseDay(since) === undefined) {
      const body = { metadata: { uid, labels: { [label]: formatDay(clock.now()) } } };
      await client.patch(secrets, { namespace, name }, { type: "merge", body });
    } else if (since < formatDay(keptFrom)) {
      const preconditions = { resourceVersion };
      await client
        .delete(secrets, { namespace, name }, { preconditions })
        .catch((error: unknown) => {
          // On a conflict the token may just have been used.
          if (!isConflict(error)) ignoreNotFound(error);
        });
    }
  }
}

/** Formats a time in milliseconds since 1970 as a UTC date: `2024-01-02`. */
function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Parses a UTC date to milliseconds since 1970; undefined = invalid. */
function parseDay(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
