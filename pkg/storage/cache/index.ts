/** cache: collections in memory, fed by one watch of the store. */
export { Cache, type CacheOptions } from "./cache.ts";
