import { type Domain, resolve } from "#meta";
import type { ApiObject } from "#client";
import type { Deployment, ReplicaSet } from "#kinds";

type Annotations = Readonly<Record<string, string>>;

/** Size limit of the revision history annotation in characters. */
const maxHistoryLength = 2_000;
const maxReplicas = 2 ** 31 - 1;

/** Annotations of Deployments and ReplicaSets: revisions and sizes. */
export class DeploymentAnnotations {
  readonly revision: string;
  private readonly history: string;
  private readonly desired: string;
  private readonly max: string;
  readonly rollbackTo = "deprecated.deployment.rollback.to";
  /** Annotations that are not copied between a Deployment and its ReplicaSets. */
  private readonly notCopied: ReadonlySet<string>;

  constructor(domain: Domain) {
    const name = (suffix: string) => resolve(`deployment.{label}/${suffix}`, domain);
    this.revision = name("revision");
    this.history = name("revision-history");
    this.desired = name("desired-replicas");
    this.max = name("max-replicas");
    const lastApplied = resolve("kubectl.{label}/last-applied-configuration", domain);
    this.notCopied = new Set([
      lastApplied,
      this.revision,
      this.history,
      this.desired,
      this.max,
      this.rollbackTo,
    ]);
  }

  /** Revision of an object; 0 = none, undefined = not an int64. */
  revisionOf({ metadata }: ApiObject): bigint | undefined {
    return integerIn(metadata.annotations?.[this.revision] ?? "0");
  }

  /** `spec.replicas` of the Deployment when it last scaled the ReplicaSet. */
  desiredOf(set: ReplicaSet): number | undefined {
    return this.sizeIn(set, this.desired);
  }

  /** Maximum size (`spec.replicas` plus maxSurge) of the Deployment when it last scaled the ReplicaSet. */
  maxOf(set: ReplicaSet): number | undefined {
    return this.sizeIn(set, this.max);
  }

  /** Revision of a requested rollback; 0 = the previous one, undefined = no rollback requested. */
  rollbackOf({ metadata }: Deployment): bigint | undefined {
    const text = metadata.annotations?.[this.rollbackTo] ?? "";
    return text === "" ? undefined : integerIn(text);
  }

  /** Adds the sizes of the Deployment, as `desiredOf` and `maxOf` read them. */
  withSizes(annotations: Annotations = {}, desired: number, max: number): Annotations {
    return { ...annotations, [this.desired]: String(desired), [this.max]: String(max) };
  }

  /** Annotations of the new ReplicaSet, at `revision`. */
  forNewSet({ metadata }: Deployment, before: Annotations = {}, revision: bigint): Annotations {
    const copied = { ...before, ...this.copyable(metadata.annotations) };
    const old = before[this.revision];
    const oldRevision = integerIn(old ?? "0");
    if (oldRevision === undefined || oldRevision >= revision) return copied;
    const next = { ...copied, [this.revision]: String(revision) };
    if (old === undefined) return next;
    return { ...next, ...this.extendedHistory(before[this.history] ?? "", old) };
  }

  /** Annotations of a Deployment after a rollback to `set`. */
  forRollback({ metadata }: Deployment, set: ReplicaSet): Annotations {
    const ofDeployment = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
      this.notCopied.has(key),
    );
    return { ...Object.fromEntries(ofDeployment), ...this.copyable(set.metadata.annotations) };
  }

  private copyable(annotations: Annotations = {}): Annotations {
    return Object.fromEntries(
      Object.entries(annotations).filter(([key]) => !this.notCopied.has(key)),
    );
  }

  /** Appends a revision to the history; drops the oldest ones beyond the size limit. */
  private extendedHistory(history: string, revision: string): Annotations {
    const revisions = history === "" ? [] : history.split(",");
    let length = revisions.length === 0 ? 0 : history.length + 1 + revision.length;
    let start = 0;
    while (length > maxHistoryLength && start < revisions.length) {
      length -= revisions[start]!.length + 1;
      start++;
    }
    if (length > maxHistoryLength) return {};
    return { [this.history]: [...revisions.slice(start), revision].join(",") };
  }

  private sizeIn({ metadata }: ReplicaSet, annotation: string): number | undefined {
    const text = metadata.annotations?.[annotation];
    if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
    const size = Number(text);
    return size > maxReplicas ? undefined : size;
  }
}

/** Parses an int64; undefined = not one. */
function integerIn(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
