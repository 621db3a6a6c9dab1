/** embedded: the store in the process, in memory or durable with LMDB. */
export { memoryBackend } from "./memory-backend.ts";
export type { DurableBackendOptions } from "./durable.ts";
export { type EmbeddedStore, type StoreLimits } from "./embedded-store.ts";
export { type Retention } from "./history.ts";
