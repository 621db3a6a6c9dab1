import { deepEqual, printJson } from "#base";
import type { ApiObject, Handle } from "#client";
import { groupVersionOf, isConflict, isNotFound, resolve, selectorFromLabelSelector } from "#meta";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

/** Field manager of the rules of aggregated roles. */
const fieldManager = "clusterrole-aggregation-controller";

interface ClusterRole extends ApiObject {
  readonly rules?: readonly unknown[] | null;
  readonly aggregationRule?: {
    readonly clusterRoleSelectors?: readonly Parameters<typeof selectorFromLabelSelector>[0][];
  };
}

/**
 * Sets the rules of every ClusterRole with an aggregationRule to those of the ClusterRoles that it selects,
 * in a deterministic order, so that replicas agree and unchanged rules are not rewritten.
 */
export async function runClusterRoleAggregation(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const group = resolve("rbac.authorization.{api}", client.domain);
  const names = { plural: "clusterroles", kind: "ClusterRole", namespaced: false };
  const resource: Handle<ClusterRole> = { group, version: "v1", ...names };
  const roles = informers.of(resource);
  const queue = newWorkQueue(context, "ClusterRoleAggregator");
  // An incomplete list of roles would temporarily revoke permissions.
  await roles.untilSynced();
  enqueueOnChange(queue, roles, () => {
    const aggregating = [...roles.all()].filter(({ aggregationRule }) => aggregationRule);
    return aggregating.map(({ metadata }) => metadata.name);
  });
  await queue.run(async (name) => {
    const role = roles.get(name);
    if (role === undefined) return;
    const rules = aggregated(role, roles.all());
    if (deepEqual(rules, role.rules ?? [])) return;
    const apiVersion = groupVersionOf(group, "v1");
    // The uid prevents the apply from recreating a deleted role.
    const metadata = { name, uid: role.metadata.uid };
    const body = { apiVersion, kind: "ClusterRole", metadata, rules };
    // Server-side apply, so that other managers keep all other fields.
    const apply = { type: "apply", body, fieldManager, force: true } as const;
    await client.patch(resource, { name }, apply).catch((error: unknown) => {
      // Deleted or changed meanwhile: the informer event requeues a changed one.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  });
}

/** Rules in the order of selectors, then of role names, without duplicates. */
function aggregated(
  { metadata, aggregationRule }: ClusterRole,
  all: Iterable<ClusterRole>,
): readonly unknown[] {
  const rules = new Map<string, unknown>();
  const others = [...all]
    .filter((role) => role.metadata.name !== metadata.name)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const each of aggregationRule?.clusterRoleSelectors ?? []) {
    const selection = selectorFromLabelSelector(each);
    for (const role of others) {
      if (!selection.matches(role.metadata.labels ?? {})) continue;
      for (const rule of role.rules ?? []) rules.set(printJson(rule), rule);
    }
  }
  return [...rules.values()];
}
