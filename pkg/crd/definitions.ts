import { createHash } from "node:crypto";
import { conditionOf, type CustomResourceDefinition } from "#api";
import { deepEqual } from "#base";
import { followStored, WorkQueue } from "#client";
import { type Resource, resolve } from "#meta";
import { type DefinitionOptions, isOutdated } from "./options.ts";
import { NameClaims } from "./name-claims.ts";
import { conversionOf } from "./conversion.ts";
import { customResources } from "./custom-kind.ts";
import { removeInstances } from "./instances.ts";
import { decidedStatus, type TakenNames } from "./names.ts";
import { timestamp, writeStatus } from "./status.ts";

/** What is known of a definition, and served because of it. */
interface TrackedDefinition {
  /** As it was seen last. */
  definition: CustomResourceDefinition;
  /** What it serves was made of what has this digest; "" = it serves nothing. */
  served: string;
  /** When it was first seen that it is being deleted; monotonic time. */
  goingSince?: number;
}

export interface ServedDefinitions {
  /** Resolves when everything is served that was defined when this began. */
  readonly ready: Promise<void>;
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

/**
 * Serves what CustomResourceDefinitions define, in this replica, and keeps their status. Every
 * replica does both: what is served follows from the stored definition alone, and a status is
 * written only over the version that it was decided on, so that the first one to write wins.
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
  readonly #known = new Map<string, TrackedDefinition>();
  readonly #groups = new Map<string, NameClaims>();
  readonly #queue: WorkQueue;
  #synced: () => void = () => undefined;
  /** Resolves when everything is served that was defined when this began. */
  readonly ready: Promise<void>;

  constructor(options: DefinitionOptions, resource: Resource) {
    const { clock, signal, report } = options;
    this.#options = options;
    this.#resource = resource;
    this.#queue = new WorkQueue({ name: "definitions", clock, signal, report, delays });
    this.ready = new Promise((resolveReady, reject) => {
      this.#synced = resolveReady;
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    // Without a waiter the rejection on abort must not count as unhandled.
    this.ready.catch(() => undefined);
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    const sink = {
      replaced: (all: readonly unknown[]) => {
        this.#replace(all as readonly CustomResourceDefinition[]);
        this.#synced();
      },
      changed: (type: string, object: unknown) => {
        const definition = object as CustomResourceDefinition;
        if (type === "DELETED") this.#forget(nameOf(definition));
        else this.#see(definition);
      },
    };
    const { done } = followStored(this.#resource, sink, this.#options);
    await Promise.all([done, this.#queue.run((name) => this.#work(name), { workers })]);
  }

  #replace(all: readonly CustomResourceDefinition[]): void {
    const names = new Set(all.map(nameOf));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#forget(name);
    for (const definition of all) this.#see(definition);
  }

  #see(definition: CustomResourceDefinition): void {
    const name = nameOf(definition);
    const { group } = definition.spec;
    let known = this.#known.get(name);
    // What this process has written may be older news.
    if (known !== undefined && isNewer(known.definition, definition)) return;
    if (known !== undefined && uidOf(known.definition) !== uidOf(definition)) {
      this.#forget(name);
      known = undefined;
    }
    if (known === undefined) {
      known = { definition, served: "" };
      this.#known.set(name, known);
    }
    const before = known.definition.status.acceptedNames;
    known.definition = definition;
    if (definition.metadata.deletionTimestamp) {
      known.goingSince ??= this.#options.clock.monotonic();
    }
    const claims = this.#groups.get(group) ?? new NameClaims();
    this.#groups.set(group, claims);
    const { spec, status } = definition;
    claims.set(name, isDecided(definition) ? status.acceptedNames : spec.names);
    this.#serve(known);
    this.#queue.add(name);
    if (!deepEqual(before, definition.status.acceptedNames)) this.#askRefused(group);
  }

  #forget(name: string): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    const { group } = known.definition.spec;
    this.#known.delete(name);
    const claims = this.#groups.get(group);
    claims?.delete(name);
    if (claims?.isEmpty) this.#groups.delete(group);
    this.#options.catalog.define(name, []);
    this.#askRefused(group);
  }

  /** Names have become free, perhaps. */
  #askRefused(group: string): void {
    for (const name of this.#groups.get(group)?.definitions ?? []) {
      const { status } = (this.#known.get(name) as TrackedDefinition).definition;
      if (conditionOf(status, "NamesAccepted")?.status === "False") this.#queue.add(name);
    }
  }

  /** Updates the catalog for a definition. Watches of versions that are replaced end. */
  #serve(known: TrackedDefinition): void {
    const { definition } = known;
    const name = nameOf(definition);
    const isEstablished = conditionOf(definition.status, "Established")?.status === "True";
    const wanted = isEstablished ? digestOf(definition) : "";
    if (wanted === known.served) return;
    known.served = wanted;
    const { catalog } = this.#options;
    catalog.define(name, isEstablished ? this.#resourcesOf(definition) : []);
  }

  #resourcesOf(definition: CustomResourceDefinition): readonly Resource[] {
    const name = nameOf(definition);
    const uid = uidOf(definition);
    return customResources(definition, {
      domain: this.#options.catalog.domain,
      isTerminating: () => {
        const now = this.#known.get(name)?.definition;
        return now === undefined || uidOf(now) !== uid || Boolean(now.metadata.deletionTimestamp);
      },
      conversion: conversionOf(definition, this.#options),
    });
  }

  async #work(name: string): Promise<void> {
    const known = this.#known.get(name);
    if (known === undefined) return;
    try {
      const { definition, goingSince } = known;
      if (goingSince !== undefined) {
        await removeInstances(this.#options, this.#resource, { definition, goingSince });
      } else await this.#decide(known);
    } catch (error) {
      if (!isOutdated(error)) throw error;
    }
  }

  /** What becomes established is served before anybody can see that it is. */
  async #decide(known: TrackedDefinition): Promise<void> {
    const { definition } = known;
    const { catalog, clock } = this.#options;
    const now = timestamp(clock.now());
    const taken = this.#takenBy(definition);
    const status = decidedStatus(definition, { taken, domain: catalog.domain, now });
    if (deepEqual(status, definition.status)) return;
    const decided = { ...definition, status };
    const stored = { definition: decided, served: known.served };
    this.#serve(stored);
    try {
      this.#see(await writeStatus(this.#options, this.#resource, decided));
      const current = this.#known.get(nameOf(definition));
      if (current !== undefined) current.served = stored.served;
    } catch (error) {
      // It is not what it should be: back to what was seen.
      known.served = "";
      this.#serve(known);
      throw error;
    }
  }

  /**
   * Names that others have, or that they want and are to be asked about first: replicas see new
   * definitions in one order, so that all of them agree about who is first.
   */
  #takenBy(definition: CustomResourceDefinition): TakenNames {
    const claims = this.#groups.get(definition.spec.group) ?? new NameClaims();
    const isOther = (owner: string): boolean => {
      const other = this.#known.get(owner)?.definition;
      if (other === undefined || owner === nameOf(definition)) return false;
      return isDecided(other) || isNewer(definition, other);
    };
    return {
      resource: (name) => [...claims.ofResource(name)].some(isOther),
      kind: (name) => [...claims.ofKind(name)].some(isOther),
    };
  }
}

const delays = { firstMs: 20, longestMs: 5_000 };
/** Removing the objects of one definition must not hold up the others. */
const workers = 8;

function nameOf({ metadata }: CustomResourceDefinition): string {
  return metadata.name ?? "";
}

function uidOf({ metadata }: CustomResourceDefinition): string {
  return metadata.uid ?? "";
}

function isDecided({ status }: CustomResourceDefinition): boolean {
  return conditionOf(status, "NamesAccepted") !== undefined;
}

function isNewer(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  return Number(a.metadata.resourceVersion ?? 0) > Number(b.metadata.resourceVersion ?? 0);
}

/** What a definition serves depends on this much of it. */
function digestOf({ spec, status }: CustomResourceDefinition): string {
  const text = JSON.stringify([spec, status.acceptedNames], withDigits);
  return createHash("sha256").update(text).digest("base64");
}

function withDigits(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
