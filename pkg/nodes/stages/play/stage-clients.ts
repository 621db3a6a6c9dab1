import type { Client } from "#client";

/** The rights of Stages beyond the pods and nodes of the process. */
export interface StageClients {
  /** Reads and writes objects of other kinds, and what `apply` steps write. */
  readonly client: Client;
  /**
   * Acts as a user that a Stage impersonates.
   * @throws StatusError 403, at the latest from the client's calls, if `client` may not impersonate it
   */
  readonly as: (username: string) => Promise<Client>;
}
