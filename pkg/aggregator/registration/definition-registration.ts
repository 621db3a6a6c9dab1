import { type ApiObject, type Client, followStored, WorkQueue } from "#client";
import { isConflict, isNotFound, resolve } from "#meta";
import type { ServerAccess } from "#registry";
import type { Instruments } from "#request";
import { apiServiceHandle, type ApiServices } from "../api-services.ts";
import type { ApiService } from "../contract.ts";

export interface RegistrationOptions extends ServerAccess {
  readonly apiServices: ApiServices;
  readonly client: Client;
  readonly instruments: Instruments;
}

interface Definition extends ApiObject {
  readonly spec: {
    readonly group: string;
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/**
 * Value of the label `automanaged` for APIServices that are synced continuously; kube-aggregator's
 * other value is `onstart`.
 */
const managedContinuously = "true";
/** Priorities of custom groups, kube-aggregator's: below those of built-in groups. */
const groupPriorityMinimum = 1000;
const versionPriority = 100;

/**
 * Maintains an APIService for every group version that CustomResourceDefinitions serve, until the
 * signal aborts. APIServices without the `automanaged` label are not changed. Every API server runs it.
 */
export async function runDefinitionRegistration(options: RegistrationOptions): Promise<void> {
  const { apiServices, catalog, signal } = options;
  const group = resolve("apiextensions.{api}", catalog.domain);
  const resource = catalog.find(group, "v1", "customresourcedefinitions");
  if (resource === undefined) return;
  const served = new ServedVersions();
  const queue = new WorkQueue({ ...options, name: "autoregister" });
  const { ready } = followStored<Definition>(
    resource,
    {
      replaced: (definitions) => served.replace(definitions).forEach((name) => queue.add(name)),
      changed: (type, definition) => {
        const names = type === "DELETED" ? served.delete(definition) : served.set(definition);
        names.forEach((name) => queue.add(name));
      },
    },
    options,
  );
  await ready;
  // Before the first list is complete, a sync would delete APIServices of existing definitions.
  const unsubscribe = apiServices.onChange((name) => queue.add(name));
  signal.addEventListener("abort", unsubscribe, { once: true });
  apiServices.list().forEach(({ metadata }) => queue.add(metadata.name));
  await queue.run((name) => sync(options, name, served.get(name)));
}

type Spec = ApiService["spec"];

async function sync(
  { apiServices, client }: RegistrationOptions,
  name: string,
  spec: Spec | undefined,
): Promise<void> {
  const label = resolve("kube-aggregator.{label}/automanaged", client.domain);
  const resource = apiServiceHandle(client.domain);
  const present = apiServices.get(name);
  try {
    if (present === undefined) {
      if (spec === undefined) return;
      const metadata = { name, labels: { [label]: managedContinuously } };
      await client.create(resource, { metadata, spec });
    } else if (present.metadata.labels?.[label] !== managedContinuously) {
      return;
    } else if (spec === undefined) {
      const preconditions = { uid: present.metadata.uid };
      await client.delete(resource, { name }, { preconditions });
    } else if (!isUpToDate(present.spec, spec)) {
      await client.update(resource, { ...present, spec });
    }
  } catch (error) {
    // Another API server or a user has changed the APIService: its watch event starts another sync.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

function isUpToDate(present: Spec, wanted: Spec): boolean {
  return (
    present.service === undefined &&
    present.groupPriorityMinimum === wanted.groupPriorityMinimum &&
    present.versionPriority === wanted.versionPriority
  );
}

/** APIServices that the served versions of CustomResourceDefinitions require, by name. */
class ServedVersions {
  private readonly byDefinition = new Map<string, readonly string[]>();
  /** `count` is the number of definitions that serve the group version. */
  private readonly byName = new Map<string, { readonly spec: Spec; readonly count: number }>();

  get(name: string): Spec | undefined {
    return this.byName.get(name)?.spec;
  }

  /** Returns the names of the APIServices that may need a sync, as do `set` and `delete`. */
  replace(definitions: readonly Definition[]): readonly string[] {
    const before = [...this.byName.keys()];
    this.byDefinition.clear();
    this.byName.clear();
    return [...before, ...definitions.flatMap((definition) => this.set(definition))];
  }

  set(definition: Definition): readonly string[] {
    const before = this.delete(definition);
    const { group, versions } = definition.spec;
    const served = versions.filter((each) => each.served);
    const names = served.map(({ name: version }) => {
      const name = `${version}.${group}`;
      const spec = { group, version, groupPriorityMinimum, versionPriority };
      this.byName.set(name, { spec, count: (this.byName.get(name)?.count ?? 0) + 1 });
      return name;
    });
    this.byDefinition.set(definition.metadata.name, names);
    return [...before, ...names];
  }

  delete({ metadata }: Definition): readonly string[] {
    const names = this.byDefinition.get(metadata.name) ?? [];
    this.byDefinition.delete(metadata.name);
    for (const name of names) {
      const { spec, count } = this.byName.get(name)!;
      if (count > 1) this.byName.set(name, { spec, count: count - 1 });
      else this.byName.delete(name);
    }
    return names;
  }
}
