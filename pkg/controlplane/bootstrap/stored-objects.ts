import objects from "./stored-objects.json" with { type: "json" };

export interface StoredObject {
  /** Without the storage root. */
  readonly key: string;
  /** JSON with placeholders for what differs between servers: `$uid`, `$time`, `$date` and `$port`. */
  readonly text: string;
}

/**
 * The bootstrap objects of a server with default kinds, features and network, as the write pipeline
 * creates them.
 */
export const storedObjects: readonly StoredObject[] = objects;
