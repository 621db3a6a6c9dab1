import { type Domain, resolve } from "#meta";
import type { ApiObject } from "#client";
import type { Deployment, ReplicaSet } from "#kinds";

type Annotations = Readonly<Record<string, string>>;

/** Longest list of earlier revisions, in characters. */
const longestHistory = 2_000;
const mostReplicas = 2 ** 31 - 1;

/** The annotations by which Deployments and their ReplicaSets keep revisions and sizes. */
export class DeploymentAnnotations {
  readonly revision: string;
  private readonly history: string;
  private readonly desired: string;
  private readonly max: string;
  readonly rollbackTo = "deprecated.deployment.rollback.to";
  /** Not copied between a Deployment and its ReplicaSets. */
  private readonly own: ReadonlySet<string>;

  constructor(domain: Domain) {
    const name = (suffix: string) => resolve(`deployment.{label}/${suffix}`, domain);
    this.revision = name("revision");
    this.history = name("revision-history");
    this.desired = name("desired-replicas");
    this.max = name("max-replicas");
    const lastApplied = resolve("kubectl.{label}/last-applied-configuration", domain);
    this.own = new Set([
      lastApplied,
      this.revision,
      this.history,
      this.desired,
      this.max,
      this.rollbackTo,
    ]);
  }

  /** 0 = none; undefined = no integer. */
  revisionOf({ metadata }: ApiObject): bigint | undefined {
    return integerIn(metadata.annotations?.[this.revision] ?? "0");
  }

  /** Size of the Deployment when it last scaled the ReplicaSet. */
  desiredOf(set: ReplicaSet): number | undefined {
    return this.sizeIn(set, this.desired);
  }

  /** That size with the surge. */
  maxOf(set: ReplicaSet): number | undefined {
    return this.sizeIn(set, this.max);
  }

  /** The revision that a rollback asks for; 0 = the one before; undefined = there is no rollback. */
  rollbackOf({ metadata }: Deployment): bigint | undefined {
    const text = metadata.annotations?.[this.rollbackTo] ?? "";
    return text === "" ? undefined : integerIn(text);
  }

  withSizes(annotations: Annotations = {}, desired: number, max: number): Annotations {
    return { ...annotations, [this.desired]: String(desired), [this.max]: String(max) };
  }

  /** Annotations of the ReplicaSet of the Deployment's template, which has this revision now. */
  forNewSet({ metadata }: Deployment, before: Annotations = {}, revision: bigint): Annotations {
    const copied = { ...before, ...this.withoutOwn(metadata.annotations) };
    const old = before[this.revision];
    const oldRevision = integerIn(old ?? "0");
    if (oldRevision === undefined || oldRevision >= revision) return copied;
    const next = { ...copied, [this.revision]: String(revision) };
    if (old === undefined) return next;
    return { ...next, ...this.extendedHistory(before[this.history] ?? "", old) };
  }

  /** Annotations of a Deployment that is rolled back to a ReplicaSet. */
  forRollback({ metadata }: Deployment, set: ReplicaSet): Annotations {
    const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => this.own.has(key));
    return { ...Object.fromEntries(kept), ...this.withoutOwn(set.metadata.annotations) };
  }

  private withoutOwn(annotations: Annotations = {}): Annotations {
    return Object.fromEntries(Object.entries(annotations).filter(([key]) => !this.own.has(key)));
  }

  /** The oldest revisions are dropped where the list would be too long. */
  private extendedHistory(history: string, revision: string): Annotations {
    const revisions = history === "" ? [] : history.split(",");
    let length = revisions.length === 0 ? 0 : history.length + 1 + revision.length;
    let start = 0;
    while (length > longestHistory && start < revisions.length) {
      length -= revisions[start]!.length + 1;
      start++;
    }
    if (length > longestHistory) return {};
    return { [this.history]: [...revisions.slice(start), revision].join(",") };
  }

  private sizeIn({ metadata }: ReplicaSet, annotation: string): number | undefined {
    const text = metadata.annotations?.[annotation];
    if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
    const size = Number(text);
    return size > mostReplicas ? undefined : size;
  }
}

/** An int64; undefined = the text is none. */
function integerIn(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
