/** base: what every folder may use. No npm package, no Kubernetes word. */
export { assert, AssertionFailure, unreachable } from "./assert.ts";
export { systemClock, type Clock } from "./clock.ts";
export { memoize } from "./memoize.ts";
