import { KeyedMutex } from "#base";
import { isConflict, isNotFound, Quantity } from "#meta";
import {
  amountOf,
  type Amounts,
  inScopes,
  masked,
  type Evaluator,
  evaluatorFor,
  minus,
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
import { type Collection, refuse } from "../../objects.ts";
import type { AdmissionPlugin, PluginDependencies } from "../../plugin.ts";

type QuotaParts = Pick<PluginDependencies, "objects" | "clock" | "catalog" | "registry">;

/** Attempts to write the usage when other servers change the same quotas. */
const attempts = 10;

/**
 * Refuses what exceeds a ResourceQuota of the namespace, and adds what it admits to the quota's
 * status. Runs last, so that a request refused for another reason uses no quota. Deletions are
 * counted by the quota controller.
 */
export const resourceQuota: AdmissionPlugin = {
  name: "ResourceQuota",
  enabled: "default",
  create(parts) {
    const { domain } = parts.catalog;
    // Charges of one namespace run one after another, which avoids conflicts in the store.
    const mutex = new KeyedMutex();
    const charged = async (attributes: AdmissionAttributes): Promise<readonly string[]> => {
      const { resource, namespace } = attributes.request;
      // Without a quota there is nothing to wait for.
      if ((await quotasFor(parts, attributes)).length === 0) return [];
      const meter = evaluatorFor(resource, { domain, now: parts.clock.now() });
      await mutex.runExclusive(namespace, () => charge(parts, attributes, meter));
      return [];
    };
    return {
      validate: (attributes) => {
        const { request } = attributes;
        if (request.namespace === "" || !mayCharge(attributes)) return undefined;
        return parts.objects.areKnownToBeNone(quotasOf(request)) ? undefined : charged(attributes);
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

/** Whether a write of this sort can change the usage of a quota. */
function mayCharge({ request, operation }: AdmissionAttributes): boolean {
  const { resource, subresource } = request;
  if (operation === "delete") return false;
  const plural = resource.kind.group === "" ? resource.plural : "";
  if (plural === "services" || plural === "persistentvolumeclaims") return subresource === "";
  if (plural === "pods" && subresource === "resize") return true;
  return subresource === "" && operation === "create" && !resource.kind.rules.expires;
}

async function charge(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  meter: Evaluator,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const charges = await chargesOf(parts, attributes, meter);
    if (attributes.dryRun || (await noteAll(parts, attributes, charges))) return;
    if (attempt === attempts) throw refuse(attributes, "the quotas change too often");
  }
}

interface Charge {
  readonly quota: any;
  readonly used: Amounts;
}

/** Throws 403 where a quota does not allow it. */
async function chargesOf(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  meter: Evaluator,
): Promise<readonly Charge[]> {
  const all = await quotasFor(parts, attributes);
  const quotas = all.filter((quota) => concerns(quota, attributes, meter));
  if (quotas.length === 0) return [];
  for (const quota of quotas) checkSaid(attributes, meter, quota);
  const change = changeOf(attributes, meter.usage(attributes.object), meter);
  if (Object.keys(change).length === 0) return [];
  return quotas.map((quota) => ({ quota, used: usageWith(attributes, quota, change) }));
}

function concerns(quota: any, { request, object }: AdmissionAttributes, meter: Evaluator): boolean {
  const names = Object.keys(quota.status?.hard ?? {});
  return names.some(meter.matches) && inScopes(quota, request.resource.plural, object);
}

function checkSaid(
  attributes: AdmissionAttributes,
  meter: Evaluator,
  { metadata, status }: any,
): void {
  const names = Object.keys(status.hard).filter(meter.matches);
  const silence = meter.missingResources?.(attributes.object, names);
  if (silence !== undefined) throw refuse(attributes, `failed quota: ${metadata.name}: ${silence}`);
  const isKnown = names.every((name) => Object.hasOwn(status.used ?? {}, name));
  if (isKnown) return;
  const list = [...names].sort().join(",");
  throw refuse(attributes, `status unknown for quota: ${metadata.name}, resources: ${list}`);
}

/** The difference that the write makes to the usage, without zeros. */
function changeOf(attributes: AdmissionAttributes, usage: Amounts, meter: Evaluator): Amounts {
  const negative = Object.keys(usage).filter((name) => Quantity.parse(usage[name]!).sign < 0);
  if (negative.length > 0) {
    const list = negative.sort().join(",");
    throw refuse(attributes, `quota usage is negative for resource(s): ${list}`);
  }
  const before = attributes.operation === "update" ? meter.usage(attributes.old) : {};
  const change = Object.entries(minus(usage, before));
  return Object.fromEntries(change.filter(([, amount]) => !Quantity.parse(amount).isZero));
}

function usageWith(attributes: AdmissionAttributes, quota: any, change: Amounts): Amounts {
  const { metadata, status } = quota;
  const hard: Amounts = status.hard;
  const requested = masked(change, new Set(Object.keys(hard)));
  const used = plus(status.used ?? {}, requested);
  const exceeded = new Set(
    Object.keys(requested).filter(
      (name) => amountOf(used, name)!.compare(amountOf(hard, name)!) > 0,
    ),
  );
  if (exceeded.size === 0) return used;
  const show = (amounts: Amounts) => printed(masked(amounts, exceeded));
  throw refuse(
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

/** False on a conflict: one of the quotas has changed since it was read. */
async function noteAll(
  parts: QuotaParts,
  attributes: AdmissionAttributes,
  charges: readonly Charge[],
): Promise<boolean> {
  for (const charge of charges) {
    if (!(await note(parts, attributes, charge))) return false;
  }
  return true;
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
