import { deepEqual } from "#base";
import { type Resource, resolve, selectorFromLabelSelector } from "#meta";
import { type ControllerOptions, isConflict, isNotFound, observe, targetOf } from "./access.ts";
import { WorkQueue } from "./work-queue.ts";

/** The owner of the rules of aggregated roles. */
const fieldManager = "clusterrole-aggregation-controller";

interface ClusterRole {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly unknown[] | null;
  readonly aggregationRule?: {
    readonly clusterRoleSelectors?: readonly Parameters<typeof selectorFromLabelSelector>[0][];
  };
}

/**
 * Gives every ClusterRole that has an aggregation rule the rules of those that it selects. Any
 * number of replicas may run it: all come to the same rules in the same order, and one that is
 * already there is not written again.
 */
export async function runClusterRoleAggregation(options: ControllerOptions): Promise<void> {
  const group = resolve("rbac.authorization.{api}", options.catalog.domain);
  const resource = options.catalog.find(group, "v1", "clusterroles");
  if (resource === undefined) return;
  const roles = new Map<string, ClusterRole>();
  // Half a list of roles must not pass for all of them, or rights would be taken away for a while.
  let isWhole = false;
  const queue = new WorkQueue({
    ...options,
    work: async (name) => {
      const role = roles.get(name);
      if (role === undefined || !isWhole) return;
      const rules = aggregated(role, roles);
      if (!deepEqual(rules, role.rules ?? [])) await write(options, resource, { role, rules });
    },
  });
  const reconsider = () => {
    for (const { aggregationRule, metadata } of roles.values()) {
      if (aggregationRule) queue.add(metadata.name);
    }
  };
  await Promise.all([
    queue.run(),
    observe(options, resource, {
      restarted: () => {
        isWhole = false;
        roles.clear();
      },
      synced: () => {
        isWhole = true;
        reconsider();
      },
      changed: ({ object }, type) => {
        const { name } = object.metadata;
        if (type === "DELETED") roles.delete(name);
        else roles.set(name, object);
        if (isWhole) reconsider();
      },
    }),
  ]);
}

/** Selector by selector, roles by name; each rule once. */
function aggregated(
  { metadata, aggregationRule }: ClusterRole,
  roles: ReadonlyMap<string, ClusterRole>,
): readonly unknown[] {
  const rules = new Map<string, unknown>();
  const names = [...roles.keys()].filter((name) => name !== metadata.name).sort();
  for (const each of aggregationRule?.clusterRoleSelectors ?? []) {
    const selection = selectorFromLabelSelector(each);
    for (const name of names) {
      const role = roles.get(name);
      if (role === undefined || !selection.matches(role.metadata.labels ?? {})) continue;
      for (const rule of role.rules ?? []) rules.set(JSON.stringify(rule), rule);
    }
  }
  return [...rules.values()];
}

/** An apply, so that everything but the rules stays with its owners. */
async function write(
  { registry, signal }: ControllerOptions,
  resource: Resource,
  { role, rules }: { readonly role: ClusterRole; readonly rules: readonly unknown[] },
): Promise<void> {
  const { groupVersion: apiVersion } = resource;
  const { name, uid } = role.metadata;
  // The uid keeps an apply from bringing back what has just been deleted.
  const object = { apiVersion, kind: "ClusterRole", metadata: { name, uid }, rules };
  const body = { bytes: Buffer.from(JSON.stringify(object)), format: "json" } as const;
  const options = { dryRun: false, fieldManager, fieldValidation: "Ignore" } as const;
  try {
    await registry.patch(targetOf(resource, { name }, signal), body, {
      ...options,
      patchType: "apply",
      force: true,
    });
  } catch (error) {
    // Gone, or changed meanwhile: either comes back as an event.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
