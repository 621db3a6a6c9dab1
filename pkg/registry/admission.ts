import type { Resource } from "#meta";
import type { Target } from "./contract.ts";
import type { AskedOptions } from "./asked-options.ts";

/** One write as admission sees it. Objects are in hub form. */
export interface Attributes {
  readonly target: Target;
  readonly operation: "create" | "update" | "delete" | "connect";
  readonly dryRun: boolean;
  /**
   * What would be written; undefined for a deletion; of a stream, what is asked of it as JSON.
   * Mutating steps may change it in place.
   */
  readonly object: any;
  /** What is there now, with its resourceVersion; undefined for a creation. Not to be changed. */
  readonly old: any;
  /** The kind of the object where a subresource takes another than its parent's. */
  readonly spoken?: Resource;
  /** As the client gave them; absent where a subresource has none of its own. */
  readonly options?: AskedOptions | undefined;
}

/** A step of admission: throws a StatusError to refuse, answers warnings for the client. */
export type Admit = (attributes: Attributes) => Promise<readonly string[]>;
