import { flowControlDefaults } from "#api";
import { deepEqual } from "#base";
import type { Domain } from "#meta";
import type { RequestInfo, User } from "#request";
import { Classifier, type FlowSchemaObject } from "../classification/classifier.ts";
import type { PriorityLevelSettings, RequestDispatcher } from "../contract.ts";
import { queuingFault } from "../queuing/shuffle-sharding.ts";
import { exemptName, type PriorityLevelObject, settingsOf } from "./priority-level-settings.ts";

export interface ConfigurationOptions {
  readonly domain: Domain;
  readonly dispatcher: Pick<RequestDispatcher, "configure">;
  /** Total concurrency limit of the server, in seats. */
  readonly totalConcurrency: number;
  /** Reports an object that is ignored because its spec is invalid. */
  readonly report: (what: string, error: unknown) => void;
  /** Defers work to batch changes; default setImmediate. */
  readonly defer?: (work: () => void) => void;
}

/** Cache of the stored objects of one kind, updated by a reflector. */
export interface ConfigurationIndex<T> {
  readonly set: (object: T) => void;
  readonly delete: (name: string) => void;
  readonly keys: () => Iterable<string>;
}

/**
 * The effective FlowSchemas and PriorityLevelConfigurations. Changes in one turn of the event loop are
 * applied together.
 *
 * The mandatory objects always have their fixed specs, even if other specs are stored: members of
 * `system:masters` are exempt even if the store was tampered with. Only the shares and lendable percent
 * of the level `exempt` can be configured.
 */
export class FlowControlConfiguration {
  readonly flowSchemas: ConfigurationIndex<FlowSchemaObject>;
  readonly priorityLevels: ConfigurationIndex<PriorityLevelObject>;
  private readonly storedSchemas = new Map<string, FlowSchemaObject>();
  private readonly storedLevels = new Map<string, PriorityLevelObject>();
  private readonly mandatorySchemas: readonly FlowSchemaObject[];
  private readonly mandatoryLevels: readonly PriorityLevelObject[];
  /** The effective levels. */
  private levels = new Map<string, PriorityLevelObject>();
  private classifier: Classifier;
  private isPending = false;

  constructor(private readonly options: ConfigurationOptions) {
    const defaults = flowControlDefaults(options.domain);
    this.mandatorySchemas = mandatory(defaults.schemas);
    this.mandatoryLevels = mandatory(defaults.levels);
    this.flowSchemas = this.cacheOf(this.storedSchemas);
    this.priorityLevels = this.cacheOf(this.storedLevels);
    this.classifier = this.apply();
  }

  classify(user: User, request: RequestInfo): FlowSchemaObject {
    return this.classifier.classify(user, request);
  }

  /** The priority level of a FlowSchema that `classify` has just returned. */
  levelOf({ spec }: FlowSchemaObject): PriorityLevelObject {
    return this.levels.get(spec.priorityLevelConfiguration.name)!;
  }

  private cacheOf<T extends FlowSchemaObject | PriorityLevelObject>(
    stored: Map<string, T>,
  ): ConfigurationIndex<T> {
    return {
      set: (object) => {
        const { name } = object.metadata;
        const hasChanged = !isSameSpec(stored.get(name), object);
        stored.set(name, object);
        if (hasChanged) this.schedule();
      },
      delete: (name) => {
        if (stored.delete(name)) this.schedule();
      },
      keys: () => stored.keys(),
    };
  }

  private schedule(): void {
    if (this.isPending) return;
    this.isPending = true;
    const { defer = setImmediate } = this.options;
    defer(() => {
      this.isPending = false;
      this.classifier = this.apply();
    });
  }

  /** Applies the stored objects: levels first, since schemas refer to them. */
  private apply(): Classifier {
    const { dispatcher, totalConcurrency } = this.options;
    const levels = new Map<string, PriorityLevelObject>();
    const settings: PriorityLevelSettings[] = [];
    for (const level of this.desiredLevels()) {
      const found = this.settingsOf(level);
      if (found === undefined) continue;
      levels.set(level.metadata.name, level);
      settings.push(found);
    }
    dispatcher.configure(settings, totalConcurrency);
    this.levels = levels;
    const fixed = this.mandatorySchemas.map((schema) => ({
      metadata: this.storedSchemas.get(schema.metadata.name)?.metadata ?? schema.metadata,
      spec: schema.spec,
    }));
    const names = new Set(fixed.map(({ metadata }) => metadata.name));
    const others = [...this.storedSchemas.values()].filter(
      ({ metadata, spec }) =>
        !names.has(metadata.name) && levels.has(spec.priorityLevelConfiguration.name),
    );
    const fallback = fixed.find(({ metadata }) => metadata.name !== exemptName)!;
    return new Classifier([...fixed, ...others], fallback);
  }

  private *desiredLevels(): Iterable<PriorityLevelObject> {
    for (const level of this.mandatoryLevels) {
      const { name } = level.metadata;
      const stored = this.storedLevels.get(name);
      const isUsable = name === exemptName && stored !== undefined && this.settingsOf(stored);
      yield isUsable ? stored : { metadata: stored?.metadata ?? level.metadata, spec: level.spec };
    }
    const names = new Set(this.mandatoryLevels.map(({ metadata }) => metadata.name));
    for (const level of this.storedLevels.values()) {
      if (!names.has(level.metadata.name)) yield level;
    }
  }

  private settingsOf(level: PriorityLevelObject): PriorityLevelSettings | undefined {
    const settings = settingsOf(level);
    const queuing = settings?.type === "Limited" ? settings.queuing : undefined;
    const queueFault = queuing === undefined ? undefined : queuingFault(queuing);
    const fault = settings === undefined ? "invalid spec" : queueFault;
    if (fault === undefined) return settings;
    const { name } = level.metadata;
    this.options.report(`Ignoring PriorityLevelConfiguration ${name}`, new Error(fault));
    return undefined;
  }
}

function mandatory<Spec>(
  defaults: readonly { readonly name: string; readonly spec: Spec; readonly mandatory: boolean }[],
): readonly { readonly metadata: { readonly name: string }; readonly spec: Spec }[] {
  return defaults
    .filter((each) => each.mandatory)
    .map(({ name, spec }) => ({ metadata: { name }, spec }));
}

type ConfigurationObject = FlowSchemaObject | PriorityLevelObject;

/** Changes of the status and of metadata other than the uid do not affect dispatch. */
function isSameSpec(stored: ConfigurationObject | undefined, object: ConfigurationObject): boolean {
  return stored?.metadata.uid === object.metadata.uid && deepEqual(stored?.spec, object.spec);
}
