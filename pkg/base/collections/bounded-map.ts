/**
 * Sets an entry of a map that holds at most `capacity` entries. The entry becomes the newest; the
 * entry that was set longest ago is deleted when the map is full.
 */
export function setBounded<K, V>(
  map: Map<K, V>,
  [key, value]: readonly [K, V],
  capacity: number,
): void {
  map.delete(key);
  for (const oldest of map.keys()) {
    if (map.size < capacity) break;
    map.delete(oldest);
  }
  map.set(key, value);
}
