/** Types of `keelson/testing` for CommonJS: `require("keelson/testing")` answers the ES module. */
import type * as testing from "../../dist/types/cmd/keelson/testing-kit.d.ts" with {
  "resolution-mode": "import",
};

export type {
  Failure,
  Fault,
  Faults,
  Fixture,
  HotLoopOptions,
  KubernetesObject,
  ObjectReference,
  ProxiedRequestEntry,
  RecordedRequest,
  RequestAssertions,
  RequestFilter,
  RequestLog,
  TestServer,
  TestServerOptions,
  TestSnapshot,
  Verb,
  WaitCondition,
  WaitOptions,
} from "../../dist/types/cmd/keelson/testing-kit.d.ts" with { "resolution-mode": "import" };

export declare const recordedRequests: typeof testing.recordedRequests;
export declare const testServer: typeof testing.testServer;
export declare const VirtualClock: typeof testing.VirtualClock;
export type VirtualClock = testing.VirtualClock;
