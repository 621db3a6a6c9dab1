/** storage: six verbs over bytes and revisions, and one object store on top. */
export * from "./backend.ts";
export type * from "./store.ts";
export { objectStore, type ObjectStoreOptions } from "./object-store.ts";
