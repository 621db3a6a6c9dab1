import { apiServicePriorities } from "#api";
import { resolve } from "#meta";
import type { ServerAccess } from "#registry";
import { ensureDefaultObjects } from "./default-objects.ts";

/** Label value of APIServices that are synced only at the start of a server. */
const onStartLabelValue = "onstart";

/**
 * Creates and repairs an APIService for every group version that this server serves, unless it lacks the
 * label `automanaged`.
 */
export async function ensureLocalApiServices(options: ServerAccess): Promise<void> {
  const { catalog } = options;
  const { domain } = catalog;
  const resource = catalog.find(resolve("apiregistration.{api}", domain), "v1", "apiservices");
  if (resource === undefined) return;
  const label = resolve("kube-aggregator.{label}/automanaged", domain);
  const served = new Map(
    catalog.resources.map(({ group, version }) => [`${version}.${group}`, { group, version }]),
  );
  const ranks = apiServicePriorities(domain);
  const wanted = [...served].flatMap(([name, { group, version }]) => {
    const rank = ranks.get(name);
    if (rank === undefined) return [];
    const spec = { ...(group === "" ? {} : { group }), version, ...rank };
    return [{ metadata: { name, labels: { [label]: onStartLabelValue } }, spec }];
  });
  await ensureDefaultObjects(options, {
    resource,
    wanted,
    fieldManager: "",
    repaired: (present, { spec }) =>
      present.metadata.labels?.[label] === undefined ? present : { ...present, spec },
    isObsolete: ({ metadata }) => metadata.labels?.[label] === onStartLabelValue,
  });
}
