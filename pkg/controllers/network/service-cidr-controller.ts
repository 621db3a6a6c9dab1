import { type Cidr, cidrContains, type IpAddress, parseCidr, parseIp } from "#base";
import type { ApiObject, Handle } from "#client";
import type { Condition } from "#kinds";
import { type Domain, formatSeconds, groupVersionOf, ignoreNotFound, resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** Field manager of the condition Ready. */
const fieldManager = "service-cidr-controller";
const workers = 5;
/** Time in which other API servers may still allocate from a deleted ServiceCIDR. */
const deletionGraceMs = 10_000;

const readyMessage = "Kubernetes Service CIDR is ready";
const terminatingMessage =
  "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new " +
  "ServiceCIDR";

interface ServiceCidr extends ApiObject {
  readonly spec?: { readonly cidrs?: readonly string[] };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Sets ServiceCIDRs Ready, so that cluster IPs are allocated from them. Removes the finalizer of a deleted
 * one once every IPAddress in its ranges is also in the ranges of another one.
 */
export async function runServiceCidrController(context: ControllerContext): Promise<void> {
  await new ServiceCidrController(context).run();
}

class ServiceCidrController {
  private readonly resource: Handle<ServiceCidr>;
  private readonly addresses: Handle;
  private readonly finalizer: string;
  private readonly addressLabels: string;

  constructor(private readonly context: ControllerContext) {
    const { domain } = context.client;
    this.resource = networking(domain, "servicecidrs", "ServiceCIDR");
    this.addresses = networking(domain, "ipaddresses", "IPAddress");
    this.finalizer = resolve("networking.{api}/service-cidr-finalizer", domain);
    const manager = resolve("ipaddress.{label}/managed-by", domain);
    this.addressLabels = `${manager}=${resolve("ipallocator.{api}", domain)}`;
  }

  async run(): Promise<void> {
    const { informers } = this.context;
    const queue = newWorkQueue(this.context, "ipaddresses");
    const cidrs = informers.of(this.resource);
    const addresses = informers.of(this.addresses, {
      labelSelector: this.addressLabels,
      metadataOnly: true,
    });
    // Another range or a released address may unblock deletions.
    const retryDeleted = () => {
      for (const { metadata } of cidrs.all()) {
        if (metadata.deletionTimestamp !== undefined) queue.add(metadata.name);
      }
    };
    cidrs.subscribe(({ type, object }) => {
      if (type !== "deleted") queue.add(object.metadata.name);
      retryDeleted();
    });
    addresses.subscribe(retryDeleted);
    await Promise.all([cidrs.untilSynced(), addresses.untilSynced()]);
    const work = async (name: string): Promise<void> => {
      const found = cidrs.get(name);
      if (found === undefined) return;
      if (found.metadata.deletionTimestamp === undefined) return this.makeReady(found);
      const others = [...cidrs.all()].filter(({ metadata }) => metadata.name !== name);
      const isNeeded = (used: Iterable<ApiObject>) => wouldOrphan(found, others, used);
      if (isNeeded(addresses.all())) return this.setReady(found, terminating);
      const { clock } = this.context;
      const waitMs = Date.parse(found.metadata.deletionTimestamp) + deletionGraceMs - clock.now();
      if (waitMs > 0) return queue.addAfter(name, waitMs);
      // Live list, since the informer may be stale.
      if (isNeeded(await this.listAddresses())) return this.setReady(found, terminating);
      await this.setFinalizers(found, (name) => name !== this.finalizer);
    };
    await queue.run(work, { workers });
  }

  private async makeReady(found: ServiceCidr): Promise<void> {
    if (!(found.metadata.finalizers ?? []).includes(this.finalizer)) {
      await this.setFinalizers(found, () => true, [this.finalizer]);
    }
    await this.setReady(found, ready);
  }

  private async listAddresses(): Promise<readonly ApiObject[]> {
    const { client } = this.context;
    const selection = { labelSelector: this.addressLabels, metadataOnly: true };
    return (await client.list(this.addresses, selection)).items;
  }

  private async setFinalizers(
    { metadata: { name, uid, resourceVersion, finalizers = [] } }: ServiceCidr,
    keep: (name: string) => boolean,
    added: readonly string[] = [],
  ): Promise<void> {
    const next = [...finalizers.filter(keep), ...added];
    const body = { metadata: { uid, resourceVersion, finalizers: next } };
    const { client } = this.context;
    await client.patch(this.resource, { name }, { type: "merge", body }).catch(ignoreNotFound);
  }

  private async setReady(found: ServiceCidr, wanted: Omit<Condition, "type">): Promise<void> {
    const { client, clock } = this.context;
    const { name, uid } = found.metadata;
    const present = found.status?.conditions?.find(({ type }) => type === "Ready");
    const isSame = (["status", "reason", "message"] as const).every(
      (field) => (present?.[field] ?? "") === wanted[field],
    );
    if (present !== undefined && isSame) return;
    const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
    const condition = { type: "Ready", ...wanted, lastTransitionTime: now };
    const body = {
      apiVersion: groupVersionOf(this.resource.group, this.resource.version),
      kind: this.resource.kind,
      // The uid prevents the apply from recreating a deleted object.
      metadata: { name, uid },
      status: { conditions: [condition] },
    };
    const apply = { type: "apply", body, fieldManager, force: true } as const;
    const at = { name, subresource: "status" };
    await client.patch(this.resource, at, apply).catch(ignoreNotFound);
  }
}

const ready = { status: "True", reason: "", message: readyMessage } as const;
const terminating = {
  status: "False",
  reason: "Terminating",
  message: terminatingMessage,
} as const;

function networking(domain: Domain, plural: string, kind: string): Handle {
  const group = resolve("networking.{api}", domain);
  return { group, version: "v1", plural, kind, namespaced: false };
}

function rangesOf({ spec }: ServiceCidr): readonly Cidr[] {
  return (spec?.cidrs ?? []).flatMap((text) => parseCidr(text) ?? []);
}

/**
 * Whether addresses in use would be in no ServiceCIDR without `found`. Never true if each of its ranges is
 * contained in a range of another one.
 */
function wouldOrphan(
  found: ServiceCidr,
  others: readonly ServiceCidr[],
  used: Iterable<ApiObject>,
): boolean {
  const own = rangesOf(found);
  const rest = others.flatMap(rangesOf);
  const isWithin = (inner: Cidr) =>
    rest.some((outer) => outer.prefix <= inner.prefix && cidrContains(outer, inner.address));
  if (own.every(isWithin)) return false;
  const has = (ranges: readonly Cidr[], address: IpAddress) =>
    ranges.some((range) => cidrContains(range, address));
  for (const { metadata } of used) {
    const address = parseIp(metadata.name);
    if (address !== undefined && has(own, address) && !has(rest, address)) return true;
  }
  return false;
}
