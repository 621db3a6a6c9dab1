import { type Clock, setBounded } from "#base";
import type { ServiceReader } from "#request";

interface Remembered<T> {
  readonly value: Promise<T>;
  readonly until: number;
}

/** Services and their EndpointSlices are read again after so long, in ms. */
const rememberedMs = 1_000;
const mostRemembered = 1_000;

/** Reads a Service once for the requests of a second; what fails is not remembered. */
export function cachedReader(reader: ServiceReader, clock: Clock): ServiceReader {
  return {
    service: remembering(reader.service, clock),
    slices: remembering(reader.slices, clock),
  };
}

type Place = Parameters<ServiceReader["service"]>[0];

function remembering<T>(
  read: (place: Place) => Promise<T>,
  clock: Clock,
): (place: Place) => Promise<T> {
  const known = new Map<string, Remembered<T>>();
  return (place) => {
    const key = `${place.namespace}/${place.name}`;
    const found = known.get(key);
    const now = clock.monotonic();
    if (found !== undefined && found.until > now) return found.value;
    const value = read(place);
    setBounded(known, [key, { value, until: now + rememberedMs }], mostRemembered);
    value.catch(() => known.delete(key));
    return value;
  };
}
