/** What a fork takes over from the server whose store it copies. */
import type { StartOptions } from "../options.ts";
import type { Inheritance, ServerDependencies } from "./build-dependencies.ts";

/** Options that change neither what is served nor what is stored at the start. */
const neutral: ReadonlySet<string> = new Set<keyof StartOptions>([
  "certificateDirectory",
  "clock",
  "controllers",
  "host",
  "interceptor",
  "logger",
  "port",
  "report",
  "wrapClient",
]);

/** Call it in the turn of the event loop in which the store is copied: the caches must fit the copy. */
export function inheritanceOf({
  accessDefaults,
  catalog,
  gates,
  options,
  store,
}: ServerDependencies): Inheritance {
  const hasPort = options.port !== undefined;
  return { accessDefaults, catalog, gates, caches: store.cacheSnapshot(), hasPort };
}

/** Whether a server with these options serves and stores what one without them does: a fork may inherit. */
export function isNeutral(changed: StartOptions): boolean {
  return Object.keys(changed).every((name) => neutral.has(name));
}
