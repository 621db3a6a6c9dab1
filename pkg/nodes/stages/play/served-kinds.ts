import type { Clock } from "#base";
import type { Client, DiscoveredResource } from "#client";
import { groupVersionOf } from "#meta";
import { typeMetaOf } from "../stage-kinds.ts";

/** Age in ms at which discovery is read again for a kind that it lacks. */
const freshMs = 10_000;

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

  /** Undefined while the API server does not serve the kind. */
  async find(apiVersion: string, kind: string): Promise<DiscoveredResource | undefined> {
    const known = this.known(apiVersion, kind);
    const now = this.clock.monotonic();
    if (known !== undefined || now - this.readAt < freshMs) return known;
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

/** The error of a kind that is not served, worded as kubectl does. */
export function noMatchesFor(stagedKind: string): string {
  const { apiVersion, kind } = typeMetaOf(stagedKind);
  return `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
}
