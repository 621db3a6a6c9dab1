/** What happened, to clients and in the store; times are milliseconds of one clock. */

interface Timed {
  /** When the request was about to be sent. */
  readonly start: number;
  /** When the answer was there, or the hope for one was given up. */
  readonly end: number;
}

/** A key is a name; a value is text that no two writes share. */
export type Operation = Timed &
  (
    | {
        readonly kind: "write";
        readonly key: string;
        /** Undefined for a deletion. */
        readonly value: string | undefined;
        /** The version that it was to replace, 0 = none was to be there; undefined = any. */
        readonly expected: number | undefined;
        /** `unknown`: no answer came, or one that leaves it open. */
        readonly outcome: "done" | "refused" | "unknown";
        /** Revision of a write that is done; absent for deletions, whose version is not known. */
        readonly revision?: number;
      }
    | {
        readonly kind: "read";
        readonly key: string;
        /** Undefined where nothing was there. */
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

/** A change as the store tells it. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined = deleted. */
  readonly value: string | undefined;
}

type Found = ReadonlyMap<string, Version>;
type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** What one watcher was told, from its first list on. */
export type Told =
  | { readonly type: "LISTED"; readonly revision: number; readonly found: Found }
  | { readonly type: EventType; readonly key: string; readonly version: Version }
  | { readonly type: "BOOKMARK"; readonly revision: number };
