/** Types of the package for CommonJS: `require("keelson")` answers the ES module. */
import type * as keelson from "../../dist/types/cmd/keelson/index.d.ts" with {
  "resolution-mode": "import",
};

export type {
  Clock,
  RunningServer,
  ServerSnapshot,
  StartOptions,
  StorageOptions,
  VirtualClockOptions,
} from "../../dist/types/cmd/keelson/index.d.ts" with { "resolution-mode": "import" };

export declare const startServer: typeof keelson.startServer;
export declare const VirtualClock: typeof keelson.VirtualClock;
export type VirtualClock = keelson.VirtualClock;
