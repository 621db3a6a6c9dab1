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

/** Label value of APIServices that are synced all the time. */
const CONTINUOUSLY = "true";
/** Priorities of custom groups: below those that are built in. */
const groupPriorityMinimum = 1000;
const versionPriority = 100;

/**
 * Keeps an APIService for every served group version of CustomResourceDefinitions until the signal
 * aborts. APIServices without the `automanaged` label are left alone. All API servers run it.
 */
export async function runDefinitionRegistration(options: RegistrationOptions): Promise<void> {
  const { apiServices, catalog, signal } = options;
  const group = resolve("apiextensions.{api}", catalog.domain);
  const resource = catalog.find(group, "v1", "customresourcedefinitions");
  if (resource === undefined) return;
  const wanted = new WantedVersions();
  const queue = new WorkQueue({ ...options, name: "autoregister" });
  const { ready } = followStored<Definition>(
    resource,
    {
      replaced: (definitions) => wanted.replace(definitions).forEach((name) => queue.add(name)),
      changed: (type, definition) => {
        const names = type === "DELETED" ? wanted.delete(definition) : wanted.set(definition);
        names.forEach((name) => queue.add(name));
      },
    },
    options,
  );
  await ready;
  // An incomplete list would delete APIServices of definitions that are there.
  const forget = apiServices.onChange((name) => queue.add(name));
  signal.addEventListener("abort", forget, { once: true });
  apiServices.list().forEach(({ metadata }) => queue.add(metadata.name));
  await queue.run((name) => sync(options, name, wanted.get(name)));
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
      const metadata = { name, labels: { [label]: CONTINUOUSLY } };
      await client.create(resource, { metadata, spec });
    } else if (present.metadata.labels?.[label] !== CONTINUOUSLY) {
      return;
    } else if (spec === undefined) {
      const preconditions = { uid: present.metadata.uid };
      await client.delete(resource, { name }, { preconditions });
    } else if (!isSame(present.spec, spec)) {
      await client.update(resource, { ...present, spec });
    }
  } catch (error) {
    // Another API server does the same, or a user has changed it: an event follows.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

function isSame(present: Spec, wanted: Spec): boolean {
  return (
    present.service === undefined &&
    present.groupPriorityMinimum === wanted.groupPriorityMinimum &&
    present.versionPriority === wanted.versionPriority
  );
}

/** Group versions that definitions serve, as names of APIServices. */
class WantedVersions {
  private readonly byDefinition = new Map<string, readonly string[]>();
  /** With the number of definitions that serve the version. */
  private readonly wanted = new Map<string, { readonly spec: Spec; readonly count: number }>();

  get(name: string): Spec | undefined {
    return this.wanted.get(name)?.spec;
  }

  /** Answers the names that may have to be synced, as the other methods do. */
  replace(definitions: readonly Definition[]): readonly string[] {
    const before = [...this.wanted.keys()];
    this.byDefinition.clear();
    this.wanted.clear();
    return [...before, ...definitions.flatMap((definition) => this.set(definition))];
  }

  set(definition: Definition): readonly string[] {
    const before = this.delete(definition);
    const { group, versions } = definition.spec;
    const served = versions.filter((each) => each.served);
    const names = served.map(({ name: version }) => {
      const name = `${version}.${group}`;
      const spec = { group, version, groupPriorityMinimum, versionPriority };
      this.wanted.set(name, { spec, count: (this.wanted.get(name)?.count ?? 0) + 1 });
      return name;
    });
    this.byDefinition.set(definition.metadata.name, names);
    return [...before, ...names];
  }

  delete({ metadata }: Definition): readonly string[] {
    const names = this.byDefinition.get(metadata.name) ?? [];
    this.byDefinition.delete(metadata.name);
    for (const name of names) {
      const { spec, count } = this.wanted.get(name)!;
      if (count > 1) this.wanted.set(name, { spec, count: count - 1 });
      else this.wanted.delete(name);
    }
    return names;
  }
}
