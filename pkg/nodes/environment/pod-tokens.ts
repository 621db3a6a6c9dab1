import { type Clock, setBounded } from "#base";
import { type ApiObject, type Client, type Handle, objectKey } from "#client";
import { containersOf, type Pod, serviceAccounts, type TokenProjection } from "#kinds";
import { resolve } from "#meta";

interface TokenRequest extends ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObjectRef: object;
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

const tokenRequests: Handle<TokenRequest> = serviceAccounts as Handle<never>;

interface IssuedToken {
  readonly token: string;
  /** Time in ms from which a read requests another one. */
  readonly renewAt: number;
}

export interface PodTokensOptions {
  readonly clientOf: (node: string) => Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  /** Called with the key of a pod whose tokens have been issued. */
  readonly onChange: (pod: string) => void;
}

/** Maximum number of tokens kept. */
const maxTokens = 10_000;
/** The kubelet renews a token at 80 % of its life, and after a day at the latest. */
const renewAfter = 0.8;
const maxAgeMs = 86_400_000;
const retryMs = 10_000;
const defaultLifeSeconds = 3_600;

/**
 * Tokens of the service accounts of pods, bound to them. They are requested when a command first reads them:
 * most simulated pods never do.
 */
export class PodTokens {
  private readonly issued = new Map<string, IssuedToken>();
  private readonly requests = new Map<string, Promise<void>>();
  /** Keys of tokens whose request has failed, until the next try. */
  private readonly failed = new Set<string>();

  constructor(private readonly options: PodTokensOptions) {}

  /** Undefined = not issued, or due for renewal. */
  tokenOf(pod: Pod, projection: TokenProjection): string | undefined {
    const found = this.issued.get(keyOf(pod, projection));
    return found !== undefined && this.options.clock.now() < found.renewAt
      ? found.token
      : undefined;
  }

  /** Whether a pod mounts tokens that have to be requested. */
  isMissing(pod: Pod): boolean {
    return projectionsOf(pod).some((each) => this.tokenOf(pod, each) === undefined);
  }

  /** Requests the missing tokens of a pod; errors are reported, and the pod is enqueued for another try. */
  async request(pod: Pod): Promise<void> {
    const missing = projectionsOf(pod).filter((each) => this.tokenOf(pod, each) === undefined);
    await Promise.all(missing.map((each) => this.requestOnce(pod, each)));
  }

  private requestOnce(pod: Pod, projection: TokenProjection): Promise<void> {
    const key = keyOf(pod, projection);
    const running = this.requests.get(key);
    if (running !== undefined) return running;
    if (this.failed.has(key)) return Promise.resolve();
    const request = this.issue(pod, projection)
      .then((token) => {
        setBounded(this.issued, [key, token], maxTokens);
        this.options.onChange(objectKey(pod));
      })
      .catch((error: unknown) => {
        this.options.report(`Failed to request a token for pod ${objectKey(pod)}`, error);
        this.retryLater(pod, key);
      })
      .finally(() => this.requests.delete(key));
    this.requests.set(key, request);
    return request;
  }

  /** Enqueues a pod whose command is pending, which requests its tokens again. */
  private retryLater(pod: Pod, key: string): void {
    const { clock, signal, onChange } = this.options;
    const wake = () => {
      this.failed.delete(key);
      onChange(objectKey(pod));
    };
    this.failed.add(key);
    // The sleep is rejected only when the nodes stop.
    clock.sleep(retryMs, signal).then(wake, () => undefined);
  }

  private async issue(
    { metadata, spec }: Pod,
    { audience = "", expirationSeconds = defaultLifeSeconds }: TokenProjection,
  ): Promise<IssuedToken> {
    const { clientOf, clock } = this.options;
    const client = clientOf(spec?.nodeName ?? "");
    const { namespace = "", name, uid } = metadata;
    const made = await client.create(
      tokenRequests,
      {
        apiVersion: resolve("authentication.{api}/v1", client.domain),
        kind: "TokenRequest",
        metadata: { namespace, name: spec?.serviceAccountName ?? "default" },
        spec: {
          audiences: audience === "" ? [] : [audience],
          expirationSeconds: Number(expirationSeconds),
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
        },
      },
      { subresource: "token" },
    );
    const { token = "", expirationTimestamp = "" } = made.status ?? {};
    const now = clock.now();
    const lifeMs = Date.parse(expirationTimestamp) - now;
    return { token, renewAt: now + Math.min(lifeMs * renewAfter, maxAgeMs) };
  }
}

function projectionsOf(pod: Pod): readonly TokenProjection[] {
  const mounted = new Set(
    containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
  );
  return (pod.spec?.volumes ?? [])
    .filter(({ name }) => mounted.has(name))
    .flatMap(({ projected }) => projected?.sources ?? [])
    .flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
}

function keyOf({ metadata }: Pod, projection: TokenProjection): string {
  const { audience = "", expirationSeconds = defaultLifeSeconds } = projection;
  return `${metadata.uid} ${expirationSeconds} ${audience}`;
}
