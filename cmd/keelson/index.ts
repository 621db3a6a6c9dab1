/** The package's front door: a whole API server inside this process. */
export type { StorageOptions } from "./open-storage.ts";
export type { RunningServer, StartOptions } from "./options.ts";
export { startServer } from "./start-server.ts";
