import { KeyedMutex } from "#base";
import { isConflict, isNotFound, Quantity } from "#meta";
import {
  amountOf,
  type Amounts,
  attributesClassesOf,
  type Evaluator,
  evaluatorFor,
  increase,
  inScopes,
  isTerminating,
  pick,
  plus,
} from "#quota";
import {
  type AdmissionAttributes,
  apiserver,
  apiserverAgent,
  jsonBody,
  type PatchOptions,
  defaultWriteOptions,
  type ResourceRequest,
} from "#registry";
import { type Collection, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin, PluginDependencies } from "../../plugin.ts";
import {
  checkCovered,
  type LimitedResource,
  limitedResourcesIn,
  limitsOn,
} from "./limited-resources.ts";

interface QuotaParts extends Pick<
  PluginDependencies,
  "objects" | "clock" | "catalog" | "registry"
> {
  readonly limited: readonly LimitedResource[];
}

/** Maximum attempts to write the usage on conflicts with other servers. */
const attempts = 10;

/**
 * Rejects objects that exceed a ResourceQuota of the namespace, and charges admitted ones to `status.used`.
 * Runs last, so that requests rejected for another reason use no quota. Only the quota controller lowers
 * usage, after deletions and updates.
 */
export const resourceQuota: AdmissionPlugin<readonly LimitedResource[]> = {
  name: "ResourceQuota",
  enabled: "default",
  parseConfiguration: (value, { domain }) => limitedResourcesIn(value, domain),
  create(dependencies, limited = []) {
    const parts: QuotaParts = { ...dependencies, limited };
    // Charges of one namespace are serialized, which avoids write conflicts.
    const mutex = new KeyedMutex();
    const charged = async (attributes: AdmissionAttributes): Promise<readonly string[]> => {
      const { resource, namespace } = attributes.request;
      const isFree = limitsOn(limited, resource).length === 0;
      if (isFree && (await quotasFor(parts, attributes)).length === 0) return [];
      const { domain } = parts.catalog;
      const evaluator = evaluatorFor(resource, { domain, now: parts.clock.now() });
      await mutex.runExclusive(namespace, () => charge(parts, attributes, evaluator));
      return [];
    };
    return {
      validate: (attributes) => {
        const { request } = attributes;
        if (request.namespace === "" || !mayCharge(attributes)) return undefined;
        const isFree =
          limitsOn(limited, request.resource).length === 0 &&
          parts.objects.isCachedEmpty(quotasOf(request));
        return isFree ? undefined : charged(attributes);
      },
    };
  },
};

function quotasOf({ namespace }: ResourceRequest): Collection {
  return { group: "", plural: "resourcequotas", namespace };
}

function quotasFor({ objects }: QuotaParts, { request }: AdmissionAttributes) {
  return objects.list(quotasOf(request), request.context);
}

/** Whether a write can increase the usage of a quota. */
function mayCharge({ request, operation, object, old }: AdmissionAttributes): boolean {
  const { resource, subresource } = request;
  if (operation !== "create" && operation !== "update") return false;
  const isUpdate = operation === "update";
  switch (resource.kind.group === "" ? resource.plural : "") {
    case "services":
      return subresource === "";
    case "persistentvolumeclaims":
      return (
        subresource === "" ||
        (subresource === "status" && isUpdate && changesVolumeAttributesClass(object, old))
      );
    case "pods":
      if (subresource === "resize") return true;
      if (isUpdate && isTerminating(object.spec) !== isTerminating(old.spec)) {
        return subresource === "";
      }
  }
  return subresource === "" && operation === "create" && !resource.kind.rules.expires;
}

/** Whether a claim's status changes its VolumeAttributesClasses, which are quota scopes. */
function changesVolumeAttributesClass(claim: any, old: any): boolean {
  const [now, before] = [claim, old].map((each) => [...new Set(attributesClassesOf(each))].sort());
  return String(now) !== String(before);
}

async function charge(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  evaluator: Evaluator,
): Promise<void> {
  // After a conflict only the quotas that have not been charged are retried.
  let remaining: ReadonlySet<string> | undefined;
  for (let attempt = 1; ; attempt++) {
    const charges = await chargesOf(parts, attributes, { evaluator, remaining });
    if (attributes.dryRun) return;
    remaining = await writeUsage(parts, attributes, charges);
    if (remaining.size === 0) return;
    if (attempt === attempts) throw forbiddenRequest(attributes, "the quotas change too often");
  }
}

interface Charge {
  readonly quota: any;
  readonly used: Amounts;
}

interface ChargeOptions {
  readonly evaluator: Evaluator;
  /** Names of the quotas yet to be charged; undefined = all. */
  readonly remaining: ReadonlySet<string> | undefined;
}

/** Charges of all matching quotas. @throws 403 if a quota does not allow the object */
async function chargesOf(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  { evaluator, remaining }: ChargeOptions,
): Promise<readonly Charge[]> {
  const { object, old, operation, request } = attributes;
  const { plural } = request.resource;
  const all = await quotasFor(parts, attributes);
  const quotas = all.filter(
    (quota) =>
      (remaining?.has(quota.metadata.name) ?? true) &&
      concerns(quota, { plural, object, evaluator }),
  );
  for (const quota of quotas) checkComplete(attributes, evaluator, quota);
  const usage = evaluator.usage(object);
  checkNotNegative(attributes, usage);
  const added = operation === "update" ? increase(usage, evaluator.usage(old)) : usage;
  const charges = quotas.map((quota) => {
    const isCharged = operation === "update" && concerns(quota, { plural, object: old, evaluator });
    return { quota, change: withoutZeros(isCharged ? added : usage) };
  });
  const changes = quotas.length > 0 ? charges.map(({ change }) => change) : [withoutZeros(added)];
  if (changes.every((change) => Object.keys(change).length === 0)) return [];
  if (remaining === undefined) {
    checkCovered(attributes, { limited: parts.limited, all, quotas, usage, evaluator });
  }
  return charges.flatMap(({ quota, change }) => {
    const requested = pick(change, new Set(Object.keys(quota.status.hard)));
    if (Object.keys(requested).length === 0) return [];
    return [{ quota, used: usageWith(attributes, quota, requested) }];
  });
}

interface Concerned {
  readonly plural: string;
  readonly object: any;
  readonly evaluator: Evaluator;
}

function concerns(quota: any, { plural, object, evaluator }: Concerned): boolean {
  const names = Object.keys(quota.status?.hard ?? {});
  return names.some(evaluator.matches) && inScopes(quota, plural, object);
}

/** @throws 403 if the object lacks a constrained value, or the quota has no usage yet */
function checkComplete(
  attributes: AdmissionAttributes,
  evaluator: Evaluator,
  { metadata, status }: any,
): void {
  const names = Object.keys(status.hard).filter(evaluator.matches);
  const missing = evaluator.missingResources?.(attributes.object, names);
  if (missing !== undefined)
    throw forbiddenRequest(attributes, `failed quota: ${metadata.name}: ${missing}`);
  const isKnown = names.every((name) => Object.hasOwn(status.used ?? {}, name));
  if (isKnown) return;
  const list = [...names].sort().join(",");
  throw forbiddenRequest(
    attributes,
    `status unknown for quota: ${metadata.name}, resources: ${list}`,
  );
}

function checkNotNegative(attributes: AdmissionAttributes, usage: Amounts): void {
  const negative = Object.keys(usage).filter((name) => Quantity.parse(usage[name]!).sign < 0);
  if (negative.length === 0) return;
  const list = negative.sort().join(",");
  throw forbiddenRequest(attributes, `quota usage is negative for resource(s): ${list}`);
}

function withoutZeros(amounts: Amounts): Amounts {
  const entries = Object.entries(amounts);
  return Object.fromEntries(entries.filter(([, amount]) => !Quantity.parse(amount).isZero));
}

/** Usage of a quota including the charge. @throws 403 if it exceeds the quota */
function usageWith(attributes: AdmissionAttributes, quota: any, requested: Amounts): Amounts {
  const { metadata, status } = quota;
  const hard: Amounts = status.hard;
  const used = plus(status.used ?? {}, requested);
  const exceeded = new Set(
    Object.keys(requested).filter(
      (name) => amountOf(used, name)!.compare(amountOf(hard, name)!) > 0,
    ),
  );
  // Status updates of claims record completed changes, and are always allowed.
  if (exceeded.size === 0 || attributes.request.subresource === "status") return used;
  const show = (amounts: Amounts) => printed(pick(amounts, exceeded));
  throw forbiddenRequest(
    attributes,
    `exceeded quota: ${metadata.name}, requested: ${show(requested)}, ` +
      `used: ${show(status.used ?? {})}, limited: ${show(hard)}`,
  );
}

function printed(amounts: Amounts): string {
  return Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${Quantity.parse(amounts[name]!)}`)
    .join(",");
}

/** Writes the usage; returns the names of conflicting quotas. */
async function writeUsage(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  charges: readonly Charge[],
): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  for (const charge of charges) {
    if (!(await note(parts, attributes, charge))) failed.add(charge.quota.metadata.name);
  }
  return failed;
}

async function note(
  { catalog, registry }: QuotaParts,
  { request }: AdmissionAttributes,
  { quota, used }: Charge,
): Promise<boolean> {
  const resource = catalog.find("", "v1", "resourcequotas");
  if (resource === undefined) return true;
  const { name, resourceVersion } = quota.metadata;
  const patch = { metadata: { resourceVersion }, status: { used } };
  const quotaTarget = { ...request, resource, name, subresource: "status", user: apiserver };
  const body = jsonBody(patch);
  try {
    await registry().patch(quotaTarget, body, noteOptions);
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

const noteOptions: PatchOptions = {
  ...defaultWriteOptions,
  fieldManager: apiserverAgent,
  patchType: "merge",
  force: undefined,
};
