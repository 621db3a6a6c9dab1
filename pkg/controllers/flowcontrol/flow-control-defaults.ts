import { type FlowControlDefault, flowControlDefaults } from "#api";
import { deepEqual } from "#base";
import { resolve } from "#meta";
import type { ServerAccess } from "#registry";
import { ensureDefaultObjects } from "../apiserver/default-objects.ts";

const intervalMs = 60_000;
const fieldManager = "api-priority-and-fairness-config-producer-v1";

/** Maintains the default FlowSchemas and PriorityLevelConfigurations until the signal aborts. */
export async function runFlowControlDefaults(options: ServerAccess): Promise<void> {
  const { clock, signal, report } = options;
  while (!signal.aborted) {
    await clock.sleep(intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await ensureFlowControlDefaults(options).catch((error: unknown) => {
      if (!signal.aborted) report("Failed to sync the flow control defaults", error);
    });
  }
}

/**
 * Creates and repairs them. The spec of mandatory objects is always restored, that of others unless
 * the autoupdate-spec annotation is `false`, or is missing and the spec has been changed.
 */
export async function ensureFlowControlDefaults(options: ServerAccess): Promise<void> {
  const { domain } = options.catalog;
  const { levels, schemas } = flowControlDefaults(domain);
  const annotation = resolve("apf.{label}/autoupdate-spec", domain);
  const group = resolve("flowcontrol.apiserver.{api}", domain);
  const ensure = async (plural: string, defaults: readonly FlowControlDefault<any>[]) => {
    const resource = options.catalog.find(group, "v1", plural);
    if (resource === undefined) return;
    const mandatory = new Set(defaults.filter((each) => each.mandatory).map(({ name }) => name));
    await ensureDefaultObjects(options, {
      resource,
      fieldManager,
      wanted: defaults.map(({ name, spec }) => ({
        metadata: { name, annotations: { [annotation]: "true" } },
        spec,
      })),
      repaired: (present, { spec }) => {
        const { metadata } = present;
        const mayUpdate = mandatory.has(metadata.name) || isOurs(present, annotation);
        const annotations = { ...metadata.annotations, [annotation]: String(mayUpdate) };
        const repaired = { ...present, metadata: { ...metadata, annotations } };
        return mayUpdate ? { ...repaired, spec: specOf(present.spec, spec) } : repaired;
      },
      isObsolete: ({ metadata }) => metadata.annotations?.[annotation] === "true",
    });
  };
  await ensure("prioritylevelconfigurations", levels);
  await ensure("flowschemas", schemas);
}

function isOurs({ metadata }: any, annotation: string): boolean {
  const said = metadata.annotations?.[annotation];
  return said === "true" || (said !== "false" && metadata.generation === 1);
}

/** Keeps `exempt` of an Exempt level: it may be configured by the administrator. */
function specOf(present: any, wanted: any): any {
  if (wanted.type !== "Exempt" || present.exempt === undefined) return wanted;
  return deepEqual(present.exempt, wanted.exempt) ? wanted : { ...wanted, exempt: present.exempt };
}
