import { type Clock, setBounded } from "#base";
import type { ServiceReader } from "#request";

interface CacheEntry<T> {
  readonly value: Promise<T>;
  readonly until: number;
}

/** Time to live of a cached Service or its EndpointSlices, in ms. */
const cacheTtlMs = 1_000;
const maxEntries = 1_000;

/** Caches Services and EndpointSlices for a second; errors are not cached. */
export function cachedReader(reader: ServiceReader, clock: Clock): ServiceReader {
  return {
    service: cached(reader.service, clock),
    slices: cached(reader.slices, clock),
  };
}

type Place = Parameters<ServiceReader["service"]>[0];

function cached<T>(read: (place: Place) => Promise<T>, clock: Clock): (place: Place) => Promise<T> {
  const known = new Map<string, CacheEntry<T>>();
  return (place) => {
    const key = `${place.namespace}/${place.name}`;
    const found = known.get(key);
    const now = clock.monotonic();
    if (found !== undefined && found.until > now) return found.value;
    const value = read(place);
    setBounded(known, [key, { value, until: now + cacheTtlMs }], maxEntries);
    value.catch(() => known.delete(key));
    return value;
  };
}
