import type { Clock } from "#base";
import { type Catalog, type Resource, StatusError } from "#meta";
import type { Registry, Target } from "#registry";
import type { User } from "#request";
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

/** What authorizers keep of one kind. Keys are `namespace/name`. */
export interface Kept {
  readonly set: (object: any) => void;
  readonly delete: (key: string) => void;
  readonly keys: () => Iterable<string>;
}

/** A kind that an authorizer follows: `rbac.authorization.k8s.io`, `v1`, `roles`. */
export interface Followed {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kept: Kept;
}

const restartDelayMs = 500;

/**
 * Keeps everything followed as it is stored, until the signal aborts. Resolves when what is stored
 * now is known; kinds that are not served are left as they are.
 */
export async function feed(all: readonly Followed[], options: FeedOptions): Promise<void> {
  const served = all.flatMap(({ group, version, plural, kept }) => {
    const resource = options.catalog.find(group, version, plural);
    return resource === undefined ? [] : [{ resource, kept }];
  });
  await Promise.all(
    served.map(
      ({ resource, kept }) =>
        new Promise<void>((synced) => {
          void new Follower(kept, resource, { options, synced }).run().then(synced);
        }),
    ),
  );
}

interface Following {
  readonly options: FeedOptions;
  readonly synced: () => void;
}

/** Follows one kind; a watch that ends is begun anew with a new look at everything. */
class Follower {
  constructor(
    private readonly kept: Kept,
    private readonly resource: Resource,
    private readonly following: Following,
  ) {}

  async run(): Promise<void> {
    const { clock, signal, report } = this.following.options;
    while (!signal.aborted) {
      try {
        await this.follow();
      } catch (error) {
        if (signal.aborted) return;
        report(`watch of ${this.resource.plural}`, error);
      }
      await clock.sleep(restartDelayMs, signal).catch(() => undefined);
    }
  }

  private async follow(): Promise<void> {
    const { options, synced } = this.following;
    // What was known stays in force until the new look is complete.
    let seen: Set<string> | undefined = new Set();
    const events = options.registry.watch(targetOf(this.resource, options), {
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
        this.forgetAllBut(seen);
        seen = undefined;
        synced();
        continue;
      }
      const { object } = event.item;
      const key = objectKey(object.metadata.namespace, object.metadata.name);
      if (event.type === "DELETED") {
        this.kept.delete(key);
        seen?.delete(key);
      } else {
        this.kept.set(object);
        seen?.add(key);
      }
    }
  }

  private forgetAllBut(seen: ReadonlySet<string>): void {
    const gone = Array.from(this.kept.keys()).filter((key) => !seen.has(key));
    for (const key of gone) this.kept.delete(key);
  }
}

function targetOf(resource: Resource, { user, signal }: FeedOptions): Target {
  const place = { namespace: "", name: "", subresource: "" };
  return { resource, ...place, user, signal, userAgent: "keelson" };
}
