/** embedded: the store inside the process, in memory or durable through LMDB. */
export { memoryBackend } from "./memory-backend.ts";
export type { DurableBackendOptions } from "./durable.ts";
export { type EmbeddedStore, type StoreLimits } from "./embedded-store.ts";
export { type Retention } from "./history.ts";
