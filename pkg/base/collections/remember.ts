/**
 * Sets an entry of a map that holds `capacity` of them, as the newest; the one that was set longest
 * ago makes room.
 */
export function remember<K, V>(
  map: Map<K, V>,
  [key, value]: readonly [K, V],
  capacity: number,
): void {
  map.delete(key);
  for (const eldest of map.keys()) {
    if (map.size < capacity) break;
    map.delete(eldest);
  }
  map.set(key, value);
}
