/**
 * `keelson/testing`: a server for tests of controllers, which injects faults and records requests.
 */
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
