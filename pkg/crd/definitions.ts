import { createHash } from "node:crypto";
import { conditionOf, type CustomResourceDefinition } from "#api";
import { deepEqual, printJson } from "#base";
import { followStored, WorkQueue } from "#client";
import { type Resource, resolve } from "#meta";
import { type DefinitionOptions, isOutdated } from "./options.ts";
import { NameClaims } from "./name-claims.ts";
import { conversionOf } from "./conversion.ts";
import { customResources } from "./custom-kind.ts";
import { removeInstances } from "./instances.ts";
import { desiredStatus, type TakenNames } from "./names.ts";
import { timestamp, writeStatus } from "./status.ts";

/** A CustomResourceDefinition and the state of serving it. */
interface TrackedDefinition {
  /** The newest version seen. */
  definition: CustomResourceDefinition;
  /** `digestOf` the definition whose resources are in the catalog; "" = none. */
  servedDigest: string;
  /** Monotonic time in ms when this server first saw the deletionTimestamp. */
  terminatingSince?: number;
}

export interface ServedDefinitions {
  /** Resolves when the definitions of the initial list are served. */
  readonly ready: Promise<void>;
  /** Resolves after the signal has aborted. */
  readonly done: Promise<void>;
}

/**
 * Serves the resources of CustomResourceDefinitions and maintains their status. Every replica does
 * both: what it serves depends only on the stored definition, and a status is written only if the
 * resourceVersion is unchanged, so that the first writer wins.
 */
export function serveDefinitions(options: DefinitionOptions): ServedDefinitions {
  const { catalog } = options;
  const group = resolve("apiextensions.{api}", catalog.domain);
  const resource = catalog.find(group, "v1", "customresourcedefinitions");
  if (resource === undefined) return { ready: Promise.resolve(), done: Promise.resolve() };
  const definitions = new Definitions(options, resource);
  return { ready: definitions.ready, done: definitions.run() };
}

class Definitions {
  readonly #options: DefinitionOptions;
  readonly #resource: Resource;
  readonly #tracked = new Map<string, TrackedDefinition>();
  readonly #claimsByGroup = new Map<string, NameClaims>();
  readonly #queue: WorkQueue;
  #resolveReady: () => void = () => undefined;
  /** Resolves when the definitions of the initial list are served. */
  readonly ready: Promise<void>;

  constructor(options: DefinitionOptions, resource: Resource) {
    const { clock, signal, report } = options;
    this.#options = options;
    this.#resource = resource;
    this.#queue = new WorkQueue({ name: "definitions", clock, signal, report, delays });
    this.ready = new Promise((resolveReady, reject) => {
      this.#resolveReady = resolveReady;
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    // Prevents an unhandled rejection on abort if `ready` is not awaited.
    this.ready.catch(() => undefined);
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const sink = {
      replaced: (all: readonly unknown[]) => {
        this.#replace(all as readonly CustomResourceDefinition[]);
        this.#resolveReady();
      },
      changed: (type: string, object: unknown) => {
        const definition = object as CustomResourceDefinition;
        if (type === "DELETED") this.#delete(nameOf(definition));
        else this.#update(definition);
      },
    };
    const { done } = followStored(this.#resource, sink, this.#options);
    await Promise.all([done, this.#queue.run((name) => this.#sync(name), { workers })]);
  }

  #replace(all: readonly CustomResourceDefinition[]): void {
    const names = new Set(all.map(nameOf));
    for (const name of this.#tracked.keys()) if (!names.has(name)) this.#delete(name);
    for (const definition of all) this.#update(definition);
  }

  #update(definition: CustomResourceDefinition): void {
    const name = nameOf(definition);
    const { group } = definition.spec;
    let known = this.#tracked.get(name);
    // A watch event may be older than the result of this process's own status update, or the same.
    if (known !== undefined && !isNewer(definition, known.definition)) return;
    if (known !== undefined && uidOf(known.definition) !== uidOf(definition)) {
      this.#delete(name);
      known = undefined;
    }
    if (known === undefined) {
      known = { definition, servedDigest: "" };
      this.#tracked.set(name, known);
    }
    const before = known.definition.status.acceptedNames;
    known.definition = definition;
    if (definition.metadata.deletionTimestamp) {
      known.terminatingSince ??= this.#options.clock.monotonic();
    }
    const claims = this.#claimsByGroup.get(group) ?? new NameClaims();
    this.#claimsByGroup.set(group, claims);
    const { spec, status } = definition;
    claims.set(name, hasNameDecision(definition) ? status.acceptedNames : spec.names);
    this.#serve(known);
    this.#queue.add(name);
    if (!deepEqual(before, definition.status.acceptedNames)) this.#requeueConflicted(group);
  }

  #delete(name: string): void {
    const known = this.#tracked.get(name);
    if (known === undefined) return;
    const { group } = known.definition.spec;
    this.#tracked.delete(name);
    const claims = this.#claimsByGroup.get(group);
    claims?.delete(name);
    if (claims?.isEmpty) this.#claimsByGroup.delete(group);
    this.#options.catalog.define(name, []);
    this.#requeueConflicted(group);
  }

  /** Requeues definitions with a name conflict in the group, after a name may have been released. */
  #requeueConflicted(group: string): void {
    for (const name of this.#claimsByGroup.get(group)?.definitions ?? []) {
      const { status } = (this.#tracked.get(name) as TrackedDefinition).definition;
      if (conditionOf(status, "NamesAccepted")?.status === "False") this.#queue.add(name);
    }
  }

  /** Updates the catalog for a definition. The catalog ends watches of replaced versions. */
  #serve(known: TrackedDefinition, definition = known.definition): void {
    const isEstablished = conditionOf(definition.status, "Established")?.status === "True";
    const digest = isEstablished ? digestOf(definition) : "";
    if (digest === known.servedDigest) return;
    known.servedDigest = digest;
    const { catalog } = this.#options;
    catalog.define(nameOf(definition), isEstablished ? this.#resourcesOf(definition) : []);
  }

  #resourcesOf(definition: CustomResourceDefinition): readonly Resource[] {
    const name = nameOf(definition);
    const uid = uidOf(definition);
    return customResources(definition, {
      domain: this.#options.catalog.domain,
      isTerminating: () => {
        const current = this.#tracked.get(name)?.definition;
        if (current === undefined || uidOf(current) !== uid) return true;
        return Boolean(current.metadata.deletionTimestamp);
      },
      conversion: conversionOf(definition, this.#options),
    });
  }

  async #sync(name: string): Promise<void> {
    const known = this.#tracked.get(name);
    if (known === undefined) return;
    try {
      const { definition, terminatingSince } = known;
      if (terminatingSince !== undefined) {
        await removeInstances(this.#options, this.#resource, {
          definition,
          terminatingSince: terminatingSince,
        });
      } else await this.#syncStatus(known);
    } catch (error) {
      if (!isOutdated(error)) throw error;
    }
  }

  /** Writes the status. An established definition is served before clients can see the condition. */
  async #syncStatus(known: TrackedDefinition): Promise<void> {
    const { definition } = known;
    const { catalog, clock } = this.#options;
    const now = timestamp(clock.now());
    const taken = this.#takenNames(definition);
    const status = desiredStatus(definition, { taken, domain: catalog.domain, now });
    if (deepEqual(status, definition.status)) return;
    const decided = { ...definition, status };
    const isTracked = (): boolean => this.#tracked.get(nameOf(definition)) === known;
    this.#serve(known, decided);
    try {
      const written = await writeStatus(this.#options, this.#resource, decided);
      if (isTracked()) this.#update(written);
    } catch (error) {
      // After a conflict, the watch event of the newer definition decides what is served.
      if (!isOutdated(error) && isTracked()) this.#serve(known);
      throw error;
    }
  }

  /**
   * Names that other definitions have accepted, or that older undecided ones request: all replicas see
   * definitions in the order of resourceVersion, so that they agree on which one is first.
   */
  #takenNames(definition: CustomResourceDefinition): TakenNames {
    const claims = this.#claimsByGroup.get(definition.spec.group) ?? new NameClaims();
    const precedes = (claimant: string): boolean => {
      const other = this.#tracked.get(claimant)?.definition;
      if (other === undefined || claimant === nameOf(definition)) return false;
      return hasNameDecision(other) || isNewer(definition, other);
    };
    return {
      resource: (name) => [...claims.ofResource(name)].some(precedes),
      kind: (name) => [...claims.ofKind(name)].some(precedes),
    };
  }
}

const delays = { firstMs: 20, maxMs: 5_000 };
/** Concurrent syncs, so that the deletion of one definition's objects does not delay the others. */
const workers = 8;

function nameOf({ metadata }: CustomResourceDefinition): string {
  return metadata.name ?? "";
}

function uidOf({ metadata }: CustomResourceDefinition): string {
  return metadata.uid ?? "";
}

function hasNameDecision({ status }: CustomResourceDefinition): boolean {
  return conditionOf(status, "NamesAccepted") !== undefined;
}

function isNewer(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  return Number(a.metadata.resourceVersion ?? 0) > Number(b.metadata.resourceVersion ?? 0);
}

/** Digest of the fields that determine what a definition serves. */
function digestOf({ spec, status }: CustomResourceDefinition): string {
  const text = printJson([spec, status.acceptedNames]);
  return createHash("sha256").update(text).digest("base64");
}
