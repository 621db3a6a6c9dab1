import type { Client } from "#client";

/** Clients of Stages for objects other than the pods and nodes of the process. */
export interface StageClients {
  /** Reads and writes objects of other kinds, and what `apply` steps write. */
  readonly client: Client;
  /**
   * Client that impersonates a user on behalf of a Stage.
   * @throws StatusError 403, at the latest from the client's calls, if `client` may not impersonate it
   */
  readonly as: (username: string) => Promise<Client>;
}
