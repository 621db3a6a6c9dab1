/** The kit for tests of controllers and other clients: `keelson/testing`. */
export type { Failure, Fault, Faults } from "./faults.ts";
export type { Fixture, KubernetesObject } from "./fixtures.ts";
export type { ObjectReference, WaitOptions } from "./objects.ts";
export type { RequestFilter, Verb } from "./request-filter.ts";
export type {
  HotLoopOptions,
  RecordedRequest,
  RequestAssertions,
  RequestLog,
} from "./request-log.ts";
export {
  type TestServer,
  testServer,
  type TestServerOptions,
  type TestSnapshot,
} from "./test-server.ts";
export type { WaitCondition } from "./wait-condition.ts";
