import type { Clock } from "#base";
import { type Catalog, resolve, type Resource, StatusError } from "#meta";
import type { Registry, Target } from "#registry";
import type { User } from "#request";
import type { AccessKind, Rbac } from "./rbac.ts";
import { objectKey } from "./rbac-index.ts";

export interface FeedOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Who the server is to itself. */
  readonly user: User;
  /** Ends the feed. */
  readonly signal: AbortSignal;
  /** Told of a watch that broke and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
}

const kinds: Readonly<Record<string, AccessKind>> = {
  clusterroles: "ClusterRole",
  clusterrolebindings: "ClusterRoleBinding",
  roles: "Role",
  rolebindings: "RoleBinding",
};

const restartDelayMs = 500;

/**
 * Keeps `rbac` as the stored roles and bindings are, until the signal aborts. Resolves when
 * everything that is stored now is known; kinds that are not served are left as they are.
 */
export async function feedRbac(rbac: Rbac, options: FeedOptions): Promise<void> {
  const group = resolve("rbac.authorization.{api}", options.catalog.domain);
  const fed = Object.entries(kinds).flatMap(([plural, kind]) => {
    const resource = options.catalog.find(group, "v1", plural);
    return resource === undefined ? [] : [{ resource, kind }];
  });
  await Promise.all(
    fed.map(({ resource, kind }) => {
      const { promise, resolve: synced } = withResolvers();
      void new Follower(rbac, kind, { options, resource, synced }).run().then(synced);
      return promise;
    }),
  );
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle: () => void = () => undefined;
  const promise = new Promise<void>((resolvePromise) => {
    settle = resolvePromise;
  });
  return { promise, resolve: settle };
}

interface Followed {
  readonly options: FeedOptions;
  readonly resource: Resource;
  readonly synced: () => void;
}

/** Follows one kind; a watch that ends is begun anew with a new look at everything. */
class Follower {
  constructor(
    private readonly rbac: Rbac,
    private readonly kind: AccessKind,
    private readonly followed: Followed,
  ) {}

  async run(): Promise<void> {
    const { clock, signal, report } = this.followed.options;
    while (!signal.aborted) {
      try {
        await this.follow();
      } catch (error) {
        if (signal.aborted) return;
        report(`watch of ${this.followed.resource.plural}`, error);
      }
      await clock.sleep(restartDelayMs, signal).catch(() => undefined);
    }
  }

  private async follow(): Promise<void> {
    const { options, resource, synced } = this.followed;
    // What was known stays in force until the new look is complete.
    let seen: Set<string> | undefined = new Set();
    const events = options.registry.watch(targetOf(resource, options), {
      labelSelector: "",
      fieldSelector: "",
      resourceVersion: "",
      resourceVersionMatch: "NotOlderThan",
      limit: 0,
      continueToken: "",
      allowBookmarks: true,
      sendInitialEvents: true,
      timeoutSeconds: undefined,
    });
    for await (const event of events) {
      if (event.type === "ERROR") throw new StatusError(event.status);
      if (event.type === "BOOKMARK") {
        if (!event.initialEventsEnd || seen === undefined) continue;
        this.rbac.keepOnly(this.kind, seen);
        seen = undefined;
        synced();
        continue;
      }
      const { object } = event.item;
      const key = objectKey(object.metadata.namespace, object.metadata.name);
      if (event.type === "DELETED") {
        this.rbac.delete(this.kind, key);
        seen?.delete(key);
      } else {
        this.rbac.set(this.kind, object);
        seen?.add(key);
      }
    }
  }
}

function targetOf(resource: Resource, { user, signal }: FeedOptions): Target {
  const place = { namespace: "", name: "", subresource: "" };
  return { resource, ...place, user, signal, userAgent: "keelson" };
}
