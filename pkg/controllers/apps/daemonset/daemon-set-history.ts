import {
  type ControllerRevision,
  type DaemonSet,
  daemonSets,
  type Pod,
  pods as podHandle,
} from "#kinds";
import type { ControllerContext } from "../../controller-context.ts";
import { podTemplateHash } from "../../pods/template-hash.ts";
import type { WrittenObjects } from "../../written-objects.ts";
import { isSameData, templatePatch } from "../history/controller-revision.ts";
import { RevisionHistory } from "../history/revision-history.ts";
import { revisionLabel } from "./daemon-pods.ts";

export interface DaemonRevisions {
  /** Hash of the current revision, which its pods carry. */
  readonly hash: string;
  readonly old: readonly ControllerRevision[];
}

/** ControllerRevisions of DaemonSets; their hash is that of the pod template. */
export class DaemonSetHistory {
  readonly revisions: RevisionHistory<DaemonSet>;

  constructor(
    private readonly context: ControllerContext,
    private readonly written: WrittenObjects<DaemonSet>,
  ) {
    this.revisions = new RevisionHistory(context, daemonSets);
  }

  /** The revision of the current template, created if missing, and the old revisions. */
  async of(set: DaemonSet, pods: () => Promise<readonly Pod[]>): Promise<DaemonRevisions> {
    const data = templatePatch(set.spec.template);
    const all = await this.revisions.of(set);
    const equal = all.filter((each) => isSameData(each.data, data));
    const old = all.filter((each) => !equal.includes(each));
    const next = Math.max(0, ...old.map(({ revision }) => Number(revision))) + 1;
    const last = equal.at(-1);
    if (last === undefined) return { hash: hashOf(await this.create(set, data, next)), old };
    if (equal.length > 1) await this.dedupeRevisions(last, equal, await pods());
    if (Number(last.revision) < next) await this.revisions.renumber(last, next);
    return { hash: hashOf(last), old };
  }

  /** Deletes old revisions beyond `revisionHistoryLimit`, except those of existing pods. */
  async cleanUp(
    set: DaemonSet,
    old: readonly ControllerRevision[],
    pods: readonly Pod[],
  ): Promise<void> {
    const surplus = old.length - (set.spec.revisionHistoryLimit ?? 10);
    if (surplus <= 0) return;
    const live = new Set(pods.map(({ metadata }) => metadata.labels?.[revisionLabel]));
    const unused = old.filter((each) => !live.has(hashOf(each)));
    await this.revisions.truncate(unused, () => false, Math.max(0, unused.length - surplus));
  }

  private async create(set: DaemonSet, data: object, revision: number) {
    const { client } = this.context;
    const created = await this.revisions.create(set, {
      data,
      revision,
      labels: set.spec.template.metadata?.labels,
      annotations: set.metadata.annotations,
      hashLabel: revisionLabel,
      hash: podTemplateHash(set.spec.template, set.status?.collisionCount),
    });
    if (created !== undefined) return created;
    const { namespace = "", name } = set.metadata;
    const fresh = await client.get(daemonSets, { namespace, name });
    const known = set.status?.collisionCount;
    if (fresh.metadata.uid !== set.metadata.uid || fresh.status?.collisionCount !== known) {
      throw new Error(`found a stale collision count of DaemonSet "${name}"`);
    }
    const { status } = fresh;
    if (status === undefined) throw new Error(`DaemonSet "${name}" has no status`);
    const next = { ...fresh, status: { ...status, collisionCount: (known ?? 0) + 1 } };
    this.written.add(await client.update(daemonSets, next, { subresource: "status" }));
    throw new Error(`the hash of the template of DaemonSet "${name}" is taken`);
  }

  /** Deletes duplicates of a revision, after relabeling their pods with its hash. */
  private async dedupeRevisions(
    kept: ControllerRevision,
    equal: readonly ControllerRevision[],
    pods: readonly Pod[],
  ): Promise<void> {
    const hash = hashOf(kept);
    const others = equal.filter((each) => each !== kept);
    const hashes = new Set(others.map(hashOf));
    for (const { metadata } of pods) {
      if (!hashes.has(metadata.labels?.[revisionLabel] ?? "")) continue;
      const { namespace = "", name } = metadata;
      const body = { metadata: { labels: { [revisionLabel]: hash } } };
      await this.context.client.patch(podHandle, { namespace, name }, { type: "merge", body });
    }
    await this.revisions.truncate(others, () => false, 0);
  }
}

/** Hash of a revision; its name if the label is missing, as in revisions of early Kubernetes versions. */
function hashOf({ metadata }: ControllerRevision): string {
  return metadata.labels?.[revisionLabel] ?? metadata.name;
}
