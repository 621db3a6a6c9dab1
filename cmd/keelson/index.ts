/** Entry point of the npm package: an in-process API server. */
export { type Clock, VirtualClock, type VirtualClockOptions } from "#base";
export {
  type RunningServer,
  type ServerSnapshot,
  type StartOptions,
  startServer,
  type StorageOptions,
} from "#controlplane";
