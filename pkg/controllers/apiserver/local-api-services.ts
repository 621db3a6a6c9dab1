import { apiRanks } from "#api";
import { resolve } from "#meta";
import type { ServerAccess } from "#registry";
import { ensureDefaultObjects } from "./default-objects.ts";

/** Of an object that is made when the server starts, and let alone afterwards. */
const ON_START = "onstart";

/**
 * Registers every group and version that this server itself serves. Somebody who takes away the
 * label that marks these objects has them for his own.
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
  const ranks = apiRanks(domain);
  const wanted = [...served].flatMap(([name, { group, version }]) => {
    const rank = ranks.get(name);
    if (rank === undefined) return [];
    const spec = { ...(group === "" ? {} : { group }), version, ...rank };
    return [{ metadata: { name, labels: { [label]: ON_START } }, spec }];
  });
  await ensureDefaultObjects(options, {
    resource,
    wanted,
    fieldManager: "",
    repaired: (present, { spec }) =>
      present.metadata.labels?.[label] === undefined ? present : { ...present, spec },
    isObsolete: ({ metadata }) => metadata.labels?.[label] === ON_START,
  });
}
