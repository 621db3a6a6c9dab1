/** storage: backends with six verbs, and the object store with its watch cache on top. */
export * from "./backend.ts";
export type * from "./store.ts";
export { objectStore } from "./object-store.ts";
export { startCompactor } from "./compactor.ts";
export { openEtcdBackend, openDurableBackend } from "./open.ts";
export type { EtcdBackendOptions, EtcdTls } from "./etcd/index.ts";
export * from "./embedded/index.ts";
export * from "./encryption/index.ts";
