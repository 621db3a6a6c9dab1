/** Operations of clients and changes of the store; times are in milliseconds of one clock. */

interface Timed {
  /** Time before the request was sent. */
  readonly start: number;
  /** Time of the response, or of the timeout. */
  readonly end: number;
}

/** A key is a name; the value of each write is unique. */
export type Operation = Timed &
  (
    | {
        readonly kind: "write";
        readonly key: string;
        /** Undefined for a deletion. */
        readonly value: string | undefined;
        /** Revision precondition: 0 if the key must not exist, undefined for none. */
        readonly expected: number | undefined;
        /** `unknown`: no response, or one that does not tell whether the write happened. */
        readonly outcome: "done" | "refused" | "unknown";
        /** Revision of a successful write; absent for deletions, whose revision is not known. */
        readonly revision?: number;
      }
    | {
        readonly kind: "read";
        readonly key: string;
        /** Undefined if the key did not exist. */
        readonly found: Version | undefined;
      }
    | {
        readonly kind: "list";
        readonly revision: number;
        readonly found: Found;
      }
  );

export type Write = Operation & { readonly kind: "write" };

export interface Version {
  readonly revision: number;
  readonly value: string;
}

/** A change as watched in the store. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined for a deletion. */
  readonly value: string | undefined;
}

type Found = ReadonlyMap<string, Version>;
type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** The lists and events that one watcher received. */
export type Told =
  | { readonly type: "LISTED"; readonly revision: number; readonly found: Found }
  | { readonly type: EventType; readonly key: string; readonly version: Version }
  | { readonly type: "BOOKMARK"; readonly revision: number };
