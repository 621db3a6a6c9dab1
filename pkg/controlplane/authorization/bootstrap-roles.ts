import type { AccessDefault } from "#api";
import { uncoveredRules } from "#authz";
import { deepEqual } from "#base";
import {
  type Catalog,
  ignoreConflict,
  ignoreNotFound,
  isConflict,
  isNotFound,
  resolve,
  type Resource,
} from "#meta";
import {
  bodyOf,
  listAll,
  defaultDeleteOptions,
  defaultWriteOptions,
  type Registry,
  loopbackRequest,
  type ResourceRequest,
} from "#registry";

export interface ReconcileOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly signal: AbortSignal;
  readonly accessDefaults: () => readonly AccessDefault[];
}

/** Attempts per object if other clients change it concurrently. */
const attempts = 10;

/**
 * Creates the default roles and bindings, and restores missing rules and subjects. Additional rules
 * and subjects are kept; objects annotated with `autoupdate: "false"` are skipped. Replicas may run
 * this concurrently.
 */
export async function reconcileBootstrapRoles(options: ReconcileOptions): Promise<void> {
  const { catalog } = options;
  const defaults = options.accessDefaults();
  const group = resolve("rbac.authorization.{api}", catalog.domain);
  for (const kind of new Set(defaults.map((each) => each.kind))) {
    const resource = catalog.find(group, "v1", kind.plural);
    if (resource === undefined) continue;
    const wanted = defaults.filter((each) => each.kind === kind).map(({ object }) => object);
    await new RoleReconciler(options, resource).run(wanted);
  }
}

/**
 * Records the date since which the use of legacy service account tokens is tracked, for
 * legacy-serviceaccount-token-cleaner.
 */
export async function recordTokenTrackingDate(
  options: Omit<ReconcileOptions, "accessDefaults">,
  now: number,
): Promise<void> {
  const { registry, catalog, signal } = options;
  const resource = catalog.find("", "v1", "configmaps");
  if (resource === undefined) return;
  const name = "kube-apiserver-legacy-service-account-token-tracking";
  const namespace = "kube-system";
  const target = loopbackRequest(resource, { namespace }, { signal });
  const data = { since: new Date(now).toISOString().slice(0, "2006-01-02".length) };
  const body = bodyOf(resource, { metadata: { name, namespace }, data });
  await registry.create(target, body, defaultWriteOptions).catch(ignoreConflict);
}

class RoleReconciler {
  constructor(
    private readonly options: ReconcileOptions,
    private readonly resource: Resource,
  ) {}

  async run(wanted: readonly any[]): Promise<void> {
    const present = new Map<string, any>();
    const list = await this.options.registry.list(this.target({}), listAll);
    for await (const { object } of list.items) present.set(keyOf(object), object);
    await Promise.all(wanted.map((object) => this.one(object, present.get(keyOf(object)))));
  }

  /** Retries when another client changes the object concurrently. */
  private async one(wanted: any, present: any): Promise<void> {
    for (let attempt = 1, known = present; ; attempt++) {
      try {
        if (known === undefined) await this.create(wanted);
        else await this.repair(wanted, known);
        return;
      } catch (error) {
        const isOutdated = isNotFound(error) || isConflict(error);
        if (!isOutdated || attempt === attempts) throw error;
      }
      known = await this.current(wanted);
    }
  }

  private async current({ metadata }: any): Promise<any> {
    const target = this.target(metadata);
    const { registry } = this.options;
    return (await registry.get(target, { resourceVersion: "" }).catch(ignoreNotFound))?.object;
  }

  private async create(object: any): Promise<void> {
    const target = this.target({ namespace: object.metadata.namespace });
    await this.options.registry.create(target, bodyOf(this.resource, object), defaultWriteOptions);
  }

  private async repair(wanted: any, present: any): Promise<void> {
    const optOut = resolve("rbac.authorization.{label}/autoupdate", this.options.catalog.domain);
    if (present.metadata.annotations?.[optOut] === "false") return;
    const { namespace, name } = present.metadata;
    const target = this.target({ namespace, name });
    const { registry } = this.options;
    if (wanted.roleRef !== undefined && !deepEqual(wanted.roleRef, present.roleRef)) {
      // roleRef is immutable: the binding must be recreated.
      const { uid, resourceVersion } = present.metadata;
      await registry.delete(target, {
        ...defaultDeleteOptions,
        preconditions: { uid, resourceVersion },
      });
      return this.create(wanted);
    }
    const repaired = merge(wanted, present);
    if (deepEqual(repaired, present)) return;
    await registry.update(target, bodyOf(this.resource, repaired), defaultWriteOptions);
  }

  private target(place: { namespace?: string; name?: string }): ResourceRequest {
    return loopbackRequest(this.resource, place, this.options);
  }
}

function keyOf({ metadata }: any): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Adds missing rules and subjects. The rules of an aggregated role come from its controller. */
function merge(wanted: any, present: any): any {
  const metadata = {
    ...present.metadata,
    labels: { ...present.metadata.labels, ...wanted.metadata.labels },
    annotations: { ...present.metadata.annotations, ...wanted.metadata.annotations },
  };
  if (wanted.roleRef !== undefined) {
    const held: readonly unknown[] = present.subjects ?? [];
    const more = (wanted.subjects ?? []).filter(
      (subject: unknown) => !held.some((each) => deepEqual(each, subject)),
    );
    return more.length === 0
      ? { ...present, metadata }
      : { ...present, metadata, subjects: [...held, ...more] };
  }
  if (wanted.aggregationRule !== undefined) {
    const selectors = present.aggregationRule?.clusterRoleSelectors ?? [];
    const more = wanted.aggregationRule.clusterRoleSelectors.filter(
      (selector: unknown) => !selectors.some((each: unknown) => deepEqual(each, selector)),
    );
    const aggregationRule = { clusterRoleSelectors: [...selectors, ...more] };
    return { ...present, metadata, aggregationRule };
  }
  const more = uncoveredRules(present.rules ?? [], wanted.rules);
  return more.length === 0
    ? { ...present, metadata }
    : { ...present, metadata, rules: [...(present.rules ?? []), ...more] };
}
