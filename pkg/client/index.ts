/** client: API clients, in process and over HTTP, informers, work queues, leader election. */
export type * from "./contract.ts";
export { RegistryClient } from "./registry-client.ts";
export { HttpClient } from "./http/http-client.ts";
export { http2Transport } from "./http/connections.ts";
export { Http2Connection } from "./http/http2-connection.ts";
export { resourcePath } from "./http/resource-path.ts";
export { withRetries } from "./http/retries.ts";
export {
  ConnectionError,
  type HttpResponse,
  type HttpRequest,
  type RoundTrip,
} from "./http/transport.ts";
export { followStored } from "./informer/follow-stored.ts";
export { TokenBucket } from "./rate-limits.ts";
export { reflect, type ReflectorSink } from "./informer/reflector.ts";
export {
  type InformerEvent,
  Informer,
  objectKey,
  type Transform,
  withoutManagedFields,
} from "./informer/informer.ts";
export { Informers } from "./informer/informers.ts";
export { RequeueAfter, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
export { CoreEventRecorder } from "./core-event-recorder.ts";
export { EventRecorder } from "./event-recorder.ts";
export {
  type ElectionOptions,
  type ElectionTimes,
  microsText,
  runElection,
  timesFault,
  defaultElectionTimes,
} from "./leader-election/leader-election.ts";
export {
  type LeaseCandidate,
  leaseCandidates,
  runLeaseCandidate,
} from "./leader-election/lease-candidate.ts";
export { clientMetrics } from "./metrics.ts";
export { type Lease, leases, type LeaseSpec } from "./leader-election/lease.ts";
export { type AccessAttributes, DelegatedAccess } from "./delegation/delegated-access.ts";
