import { type FlowControlDefault, flowControlDefaults } from "#api";
import { deepEqual, realClock } from "#base";
import type { Informers } from "#client";
import { type Domain, resolve } from "#meta";
import type { ServerAccess } from "#registry";
import { ensureDefaultObjects } from "../apiserver/default-objects.ts";

const intervalMs = 60_000;
/** Minimum pause between two rounds, so that disagreeing servers do not loop without delay. */
const pauseMs = 250;
const fieldManager = "api-priority-and-fairness-config-producer-v1";

/**
 * Maintains the default FlowSchemas and PriorityLevelConfigurations until the signal aborts: every minute,
 * and immediately when a mandatory one is changed or deleted.
 */
export async function runFlowControlDefaults(
  options: ServerAccess,
  informers: Informers,
): Promise<void> {
  const { signal, report, catalog } = options;
  const clock = realClock(options.clock);
  let changed = new AbortController();
  onMandatoryChange(informers, catalog.domain, () => changed.abort());
  while (!signal.aborted) {
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    const either = AbortSignal.any([signal, changed.signal]);
    await clock.sleep(intervalMs, either).catch(() => undefined);
    if (signal.aborted) return;
    changed = new AbortController();
    await ensureFlowControlDefaults(options).catch((error: unknown) => {
      if (!signal.aborted) report("Failed to sync the flow control defaults", error);
    });
  }
}

/** Calls `callback` when a mandatory object is changed or deleted. */
function onMandatoryChange(informers: Informers, domain: Domain, callback: () => void): void {
  const { levels, schemas } = flowControlDefaults(domain);
  const served = { group: groupOf(domain), version: "v1", namespaced: false };
  const kinds = [
    { plural: "flowschemas", kind: "FlowSchema", defaults: schemas },
    { plural: "prioritylevelconfigurations", kind: "PriorityLevelConfiguration", defaults: levels },
  ];
  for (const { plural, kind, defaults } of kinds) {
    const names = new Set(defaults.filter((each) => each.mandatory).map(({ name }) => name));
    informers.of({ ...served, plural, kind }).subscribe(({ type, object }) => {
      if (type !== "added" && names.has(object.metadata.name)) callback();
    });
  }
}

/**
 * Creates and repairs the defaults. The spec of mandatory objects is always restored; that of suggested ones
 * unless the annotation `autoupdate-spec` is `false`, or missing while the spec has been changed.
 */
export async function ensureFlowControlDefaults(options: ServerAccess): Promise<void> {
  const { domain } = options.catalog;
  const { levels, schemas } = flowControlDefaults(domain);
  const annotation = resolve("apf.{label}/autoupdate-spec", domain);
  const group = groupOf(domain);
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
        const isSaid = parseBool(metadata.annotations?.[annotation]) === mayUpdate;
        const annotations = isSaid
          ? metadata.annotations
          : { ...metadata.annotations, [annotation]: String(mayUpdate) };
        const repaired = { ...present, metadata: { ...metadata, annotations } };
        return mayUpdate ? { ...repaired, spec: specOf(present.spec, spec) } : repaired;
      },
      isObsolete: ({ metadata }) => parseBool(metadata.annotations?.[annotation]) === true,
    });
  };
  await ensure("prioritylevelconfigurations", levels);
  await ensure("flowschemas", schemas);
}

function groupOf(domain: Domain): string {
  return resolve("flowcontrol.apiserver.{api}", domain);
}

/** Value of the annotation by Go's ParseBool; without it, whether the spec was never changed. */
function isOurs({ metadata }: any, annotation: string): boolean {
  return parseBool(metadata.annotations?.[annotation]) ?? metadata.generation === 1;
}

function parseBool(text: string | undefined): boolean | undefined {
  if (["1", "t", "T", "true", "True", "TRUE"].includes(text ?? "")) return true;
  if (["0", "f", "F", "false", "False", "FALSE"].includes(text ?? "")) return false;
  return undefined;
}

/** Desired spec; keeps `exempt` of an Exempt level, which administrators may configure. */
function specOf(present: any, wanted: any): any {
  if (wanted.type !== "Exempt" || present.exempt === undefined) return wanted;
  return deepEqual(present.exempt, wanted.exempt) ? wanted : { ...wanted, exempt: present.exempt };
}
