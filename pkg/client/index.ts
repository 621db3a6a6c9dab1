/** client: the API as programs use it: calls, informers, work queues, elections. */
export type * from "./contract.ts";
export { RegistryClient } from "./registry-client.ts";
export { HttpClient } from "./http-client.ts";
export { connections } from "./connections.ts";
export { retrying } from "./retries.ts";
export { ConnectionFault, type Incoming, type Outgoing, type Send } from "./sending.ts";
export { followStored } from "./follow-stored.ts";
export { TokenBucket } from "./rate-limits.ts";
export { reflect, type Sink } from "./reflector.ts";
export { type Change, Informer, keyOf } from "./informer.ts";
export { Informers } from "./informers.ts";
export { TryAgain, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
export { EventRecorder } from "./events.ts";
export {
  type ElectionOptions,
  type ElectionTimes,
  type Lease,
  type LeaseSpec,
  microsText,
  runElection,
  timesFault,
  usualTimes,
} from "./leader-election.ts";
export { type LeaseCandidate, leaseCandidates, runCandidacy } from "./lease-candidate.ts";
export { clientMetrics } from "./metrics.ts";
