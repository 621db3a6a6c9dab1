import type { Clock, Random } from "#base";
import { ignoreConflict, resolve } from "#meta";
import type { ApiObject, Client, Handle } from "../contract.ts";
import { Informer } from "../informer/informer.ts";
import { microsText } from "./leader-election.ts";

/** LeaseCandidate of coordinated leader election. Versions have no leading `v`; times are MicroTime. */
export interface LeaseCandidate extends ApiObject {
  readonly spec?: {
    readonly leaseName: string;
    readonly binaryVersion: string;
    readonly emulationVersion?: string;
    readonly strategy?: string;
    readonly pingTime?: string;
    readonly renewTime?: string;
  };
}

export function leaseCandidates({ domain }: Client): Handle<LeaseCandidate> {
  const names = { plural: "leasecandidates", kind: "LeaseCandidate", namespaced: true };
  return { group: resolve("coordination.{api}", domain), version: "v1beta1", ...names };
}

export interface LeaseCandidateOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly leaseName: string;
  /** Name of the LeaseCandidate, and identity in the election. */
  readonly identity: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const retryMs = 1_000;

/** Maintains a LeaseCandidate until the signal aborts: renews it when the coordinator sets `pingTime`. */
export async function runLeaseCandidate(options: LeaseCandidateOptions): Promise<void> {
  const { client, namespace, identity: name, signal, clock, report } = options;
  const resource = leaseCandidates(client);
  const selection = { namespace, fieldSelector: `metadata.name=${name}` };
  const informer = new Informer<LeaseCandidate>({ ...options, resource, selection });
  const ensureLease = async () => {
    try {
      await createOrRenew(options, resource, informer.get(`${namespace}/${name}`));
    } catch (error) {
      if (signal.aborted) return;
      report(`Failed to renew LeaseCandidate ${namespace}/${name}`, error);
      await clock.sleep(retryMs, signal).then(ensureLease, () => undefined);
    }
  };
  informer.subscribe(({ type, object: { spec } }) => {
    const isPinged = (spec?.pingTime ?? "") > (spec?.renewTime ?? "");
    if (type === "deleted" || isPinged) void ensureLease();
  });
  const running = informer.run();
  await informer.untilSynced();
  await ensureLease();
  await running;
}

async function createOrRenew(
  options: LeaseCandidateOptions,
  resource: Handle<LeaseCandidate>,
  present: LeaseCandidate | undefined,
): Promise<void> {
  const { client, namespace, identity: name, leaseName, clock } = options;
  const { binaryVersion, emulationVersion } = options;
  const strategy = "OldestEmulationVersion";
  const own = { leaseName, binaryVersion, emulationVersion, strategy };
  const spec = { ...own, renewTime: microsText(clock) };
  const written =
    present === undefined
      ? client.create(resource, { metadata: { namespace, name }, spec })
      : client.update(resource, { ...present, spec: { ...present.spec, ...spec } });
  await written.catch((error: unknown) => {
    // The LeaseCandidate was changed concurrently: its watch event starts another attempt.
    ignoreConflict(error);
  });
}
