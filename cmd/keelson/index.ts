/** The npm package's entry point: a whole API server inside this process. */
export { type Clock, VirtualClock, type VirtualClockOptions } from "#base";
export {
  type RunningServer,
  type ServerSnapshot,
  type StartOptions,
  startServer,
  type StorageOptions,
} from "#controlplane";
