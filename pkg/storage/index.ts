/** storage: six verbs over bytes and revisions, and one object store on top. */
export * from "./backend.ts";
export type * from "./store.ts";
export { objectStore } from "./object-store.ts";
export { startCompactor } from "./compactor.ts";
export { openEtcdBackend, openDurableBackend } from "./open.ts";
export type { EtcdBackendOptions, EtcdTls } from "./etcd/index.ts";
export * from "./embedded/index.ts";
export * from "./encryption/index.ts";
