import type { Clock } from "#base";
import type { Client, DiscoveredResource } from "#client";
import { groupVersionOf } from "#meta";
import { typeMetaOf } from "../stage-kinds.ts";

/** Minimum age in ms of discovery before it is refreshed for a missing kind. */
const minAgeMs = 10_000;

/** Resources by group version and kind, from discovery. */
export class ServedKinds {
  private resources: readonly DiscoveredResource[] = [];
  private readAt = -Infinity;

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
  ) {
    client.onServed?.(() => (this.readAt = -Infinity));
  }

  /** Resource of a kind; undefined = not served. */
  async find(apiVersion: string, kind: string): Promise<DiscoveredResource | undefined> {
    const known = this.known(apiVersion, kind);
    const now = this.clock.monotonic();
    if (known !== undefined || now - this.readAt < minAgeMs) return known;
    const { resources } = await this.client.discover();
    this.resources = resources;
    this.readAt = now;
    return this.known(apiVersion, kind);
  }

  private known(apiVersion: string, kind: string): DiscoveredResource | undefined {
    return this.resources.find(
      (each) => each.kind === kind && groupVersionOf(each.group, each.version) === apiVersion,
    );
  }
}

/** Error of a kind that is not served, with kubectl's message. */
export function noMatchesFor(stagedKind: string): string {
  const { apiVersion, kind } = typeMetaOf(stagedKind);
  return `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
}
