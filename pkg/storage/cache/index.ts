/** cache: the watch caches of collections, updated by one watch of the store. */
export { Cache, type CacheOptions } from "./cache.ts";
