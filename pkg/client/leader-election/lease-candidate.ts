import type { Clock, Random } from "#base";
import { ignoreConflict, resolve } from "#meta";
import type { ApiObject, Client, Handle } from "../contract.ts";
import { Informer } from "../informer/informer.ts";
import { microsText } from "./leader-election.ts";

/** A candidate for a lease. Versions have no leading `v`; times are MicroTime. */
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

export interface CandidacyOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly leaseName: string;
  /** Names the candidate: its identity in the election. */
  readonly identity: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const retryMs = 1_000;

/** Stands as a candidate, and answers whenever it is asked whether it is there. */
export async function runCandidacy(options: CandidacyOptions): Promise<void> {
  const { client, namespace, identity: name, signal, clock, report } = options;
  const resource = leaseCandidates(client);
  const selection = { namespace, fieldSelector: `metadata.name=${name}` };
  const informer = new Informer<LeaseCandidate>({ ...options, resource, selection });
  const tell = async () => {
    try {
      await stand(options, resource, informer.get(`${namespace}/${name}`));
    } catch (error) {
      if (signal.aborted) return;
      report(`Failed to renew LeaseCandidate ${namespace}/${name}`, error);
      await clock.sleep(retryMs, signal).then(tell, () => undefined);
    }
  };
  informer.subscribe(({ type, object: { spec } }) => {
    const isAsked = (spec?.pingTime ?? "") > (spec?.renewTime ?? "");
    if (type === "deleted" || isAsked) void tell();
  });
  const running = informer.run();
  await informer.untilSynced();
  await tell();
  await running;
}

async function stand(
  options: CandidacyOptions,
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
    // Changed meanwhile: it comes back as an event, and is answered then.
    ignoreConflict(error);
  });
}
