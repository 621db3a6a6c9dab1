/** client: the API as programs use it: calls, informers, work queues, elections. */
export type * from "./contract.ts";
export { RegistryClient } from "./registry-client.ts";
export { HttpClient } from "./http/http-client.ts";
export { connections } from "./http/connections.ts";
export { retrying } from "./http/retries.ts";
export { ConnectionFault, type Incoming, type Outgoing, type Send } from "./http/transport.ts";
export { followStored } from "./informer/follow-stored.ts";
export { TokenBucket } from "./rate-limits.ts";
export { reflect, type Sink } from "./informer/reflector.ts";
export { type Change, Informer, keyOf } from "./informer/informer.ts";
export { Informers } from "./informer/informers.ts";
export { TryAgain, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
export { EventRecorder } from "./event-recorder.ts";
export {
  type ElectionOptions,
  type ElectionTimes,
  type Lease,
  type LeaseSpec,
  microsText,
  runElection,
  timesFault,
  usualTimes,
} from "./leader-election/leader-election.ts";
export {
  type LeaseCandidate,
  leaseCandidates,
  runCandidacy,
} from "./leader-election/lease-candidate.ts";
export { clientMetrics } from "./metrics.ts";
