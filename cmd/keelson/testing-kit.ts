/** `keelson/testing`: a server for tests of controllers, with faults and a record of requests. */
export { VirtualClock } from "#base";
export {
  recordedRequests,
  testServer,
  type Failure,
  type Fault,
  type Faults,
  type Fixture,
  type HotLoopOptions,
  type KubernetesObject,
  type ObjectReference,
  type ProxiedRequestEntry,
  type RecordedRequest,
  type RequestAssertions,
  type RequestFilter,
  type RequestLog,
  type TestServer,
  type TestServerOptions,
  type TestSnapshot,
  type Verb,
  type WaitCondition,
  type WaitOptions,
} from "#controlplane";
