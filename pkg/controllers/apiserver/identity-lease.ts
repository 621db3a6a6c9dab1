import { createHash } from "node:crypto";
import type { Clock, Random } from "#base";
import { type Client, type Lease, leases, microsText } from "#client";
import { ignoreNotFound, isConflict, resolve } from "#meta";

/**
 * Identity Leases of API servers: each server renews one in kube-system, and deletes those of other
 * servers that expired.
 */

export interface IdentityLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** Host name; with the port it identifies the server. */
  readonly hostname: string;
  readonly port: number;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const namespace = "kube-system";
const renewMs = 10_000;
const leaseSeconds = 3600;
const component = "kube-apiserver";

/**
 * Whether no other API server has an unexpired Lease. False while this server has none itself.
 */
export async function isOnlyServer(
  options: Pick<IdentityLeaseOptions, "client" | "clock" | "hostname" | "port">,
): Promise<boolean> {
  const { client, clock } = options;
  const labelSelector = `${identityLabel(client)}=${component}`;
  const { items } = await client.list(leases(client.domain), { namespace, labelSelector });
  const live = items.filter((lease) => !isExpired(lease, clock));
  return live.length === 1 && live[0]?.metadata.name === identityLeaseName(options);
}

/** Creates or renews the Lease of this server once. */
export function ensureIdentityLease(options: IdentityLeaseOptions): Promise<void> {
  return renew(options, `${identityLeaseName(options)}_${options.random.uuid()}`);
}

/** Renews the Lease of this server and deletes expired ones until the signal aborts. */
export async function runIdentityLease(options: IdentityLeaseOptions): Promise<void> {
  const { clock, signal, report, random } = options;
  const holder = `${identityLeaseName(options)}_${random.uuid()}`;
  let lookAt = clock.monotonic();
  while (!signal.aborted) {
    try {
      await renew(options, holder);
      if (clock.monotonic() >= lookAt) {
        await removeExpired(options);
        lookAt = clock.monotonic() + leaseSeconds * 1000;
      }
    } catch (error) {
      if (!signal.aborted) report("Failed to renew the identity Lease of the API server", error);
    }
    await clock.sleep(renewMs, signal, { background: true }).catch(() => undefined);
  }
}

/** Lease name: stable across restarts, unique per host and port. */
export function identityLeaseName({
  hostname,
  port,
}: Pick<IdentityLeaseOptions, "hostname" | "port">): string {
  const digest = createHash("sha256").update(`${hostname}:${port}`).digest("hex");
  return `apiserver-${digest.slice(0, 26)}`;
}

async function renew(options: IdentityLeaseOptions, holderIdentity: string): Promise<void> {
  const { client, clock, hostname } = options;
  const handle = leases(options.client.domain);
  const name = identityLeaseName(options);
  const renewTime = microsText(clock);
  const spec = { holderIdentity, leaseDurationSeconds: leaseSeconds, renewTime };
  const labels = {
    [identityLabel(client)]: component,
    [resolve("{label}/hostname", client.domain)]: hostname,
  };
  const present = await client.get(handle, { namespace, name }).catch(ignoreNotFound);
  if (present === undefined) {
    const draft = { metadata: { namespace, name, labels }, spec };
    await client.create(handle, draft).catch(ignoreConflict);
    return;
  }
  const metadata = { ...present.metadata, labels: { ...present.metadata.labels, ...labels } };
  await client.update(handle, { ...present, metadata, spec }).catch(ignoreConflict);
}

/** Ignores a conflict: the next renewal retries. */
function ignoreConflict(error: unknown): undefined {
  if (!isConflict(error)) throw error;
}

async function removeExpired(options: IdentityLeaseOptions): Promise<void> {
  const { client, clock } = options;
  const handle = leases(options.client.domain);
  const labelSelector = `${identityLabel(client)}=${component}`;
  const { items } = await client.list(handle, { namespace, labelSelector });
  for (const lease of items) {
    if (!isExpired(lease, clock)) continue;
    const { name, uid, resourceVersion } = lease.metadata;
    const preconditions = { uid, resourceVersion };
    await client
      .delete(handle, { namespace, name }, { preconditions })
      .catch((error: unknown) => (isConflict(error) ? undefined : ignoreNotFound(error)));
  }
}

function isExpired({ metadata, spec = {} }: Lease, clock: Clock): boolean {
  const { renewTime = metadata.creationTimestamp ?? "", leaseDurationSeconds = 0 } = spec;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000 <= clock.now();
}

function identityLabel({ domain }: Client): string {
  return resolve("apiserver.{label}/identity", domain);
}
