import objects from "./stored-objects.json" with { type: "json" };

/** A stored object with placeholders for what differs between servers: `$uid`, `$time` and `$date`. */
export interface StoredObject {
  /** Without the storage root. */
  readonly key: string;
  readonly object: any;
}

/** The bootstrap objects of a server with default kinds and features, as the write pipeline creates them. */
export const storedObjects: readonly StoredObject[] = objects;
