import type { ApiObject, Client, Draft, Handle, Informer } from "#client";
import { type ControllerRevision, controllerRevisions } from "#kinds";
import { isNotFound, type LabelSelector } from "#meta";
import type { ControllerContext } from "../../controller-context.ts";
import { statusCodeOf } from "../../controller-context.ts";
import { claimObjects } from "../../owners/claim.ts";
import { controllerRef } from "../../owners/controller-ref.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { selectorOf } from "../../owners/selectors.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { byRevision, isSameData, revisionName } from "./controller-revision.ts";

/** A workload with revisions of its template. */
interface Revised extends ApiObject {
  readonly spec: { readonly selector: LabelSelector };
}

/** A revision to create. */
export interface NewRevision {
  readonly data: object;
  readonly revision: number;
  /** Labels without `hashLabel`. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  /** Name of the label that carries the hash. */
  readonly hashLabel: string;
  readonly hash: string;
}

/** ControllerRevisions of workloads of one kind. */
export class RevisionHistory<T extends Revised> {
  readonly informer: Informer<ControllerRevision>;
  private readonly client: Client;
  private readonly owned: OwnedObjects<ControllerRevision>;
  private readonly written: WrittenObjects<ControllerRevision>;

  constructor(
    { client, informers }: ControllerContext,
    private readonly ownerResource: Handle<T>,
  ) {
    this.client = client;
    this.informer = informers.of(controllerRevisions);
    this.owned = new OwnedObjects(this.informer);
    this.written = new WrittenObjects(this.informer);
  }

  /** Revisions of a workload, oldest first; matching orphans are adopted. */
  async of(owner: T): Promise<readonly ControllerRevision[]> {
    const selector = selectorOf(owner.spec.selector);
    const matching = this.owned
      .candidates(owner)
      .filter(({ metadata }) => selector.matches(metadata.labels ?? {}))
      .map((revision) => this.written.newest(revision));
    const claimed = await claimObjects(matching, {
      client: this.client,
      resource: controllerRevisions,
      owner,
      ownerResource: this.ownerResource,
      matches: () => true,
    });
    return claimed.toSorted(byRevision);
  }

  /**
   * Creates a revision, or returns the existing one with the same name and data. Undefined = a revision
   * with other data has the name (hash collision).
   */
  async create(owner: T, wanted: NewRevision): Promise<ControllerRevision | undefined> {
    const { namespace = "", name: workload } = owner.metadata;
    const { data, revision, labels, annotations, hashLabel, hash } = wanted;
    const name = revisionName(workload, hash);
    const draft: Draft<ControllerRevision> = {
      metadata: {
        namespace,
        name,
        labels: { ...labels, [hashLabel]: hash },
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerRef(this.ownerResource, owner)],
      },
      data,
      revision,
    };
    try {
      return await this.client.create(controllerRevisions, draft);
    } catch (error) {
      if (statusCodeOf(error) !== 409) throw error;
      const found = await this.client.get(controllerRevisions, { namespace, name });
      return isSameData(found.data, data) ? found : undefined;
    }
  }

  /** Sets the number of a revision, e.g. after a rollback to it. */
  async renumber(revision: ControllerRevision, number: number): Promise<ControllerRevision> {
    if (Number(revision.revision) === number) return revision;
    const updated = await this.client.update(controllerRevisions, {
      ...revision,
      revision: number,
    });
    this.written.add(updated);
    return updated;
  }

  /** Deletes the oldest unused revisions beyond the limit. */
  async truncate(
    revisions: readonly ControllerRevision[],
    inUse: (revision: ControllerRevision) => boolean,
    limit: number,
  ): Promise<void> {
    const unused = revisions.filter((each) => !inUse(each));
    for (const { metadata } of unused.slice(0, Math.max(0, unused.length - limit))) {
      const { namespace = "", name, uid } = metadata;
      await this.client
        .delete(controllerRevisions, { namespace, name }, { preconditions: { uid } })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    }
  }
}
