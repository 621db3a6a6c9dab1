/** What a fork takes over from the server whose store it copies. */
import type { StartOptions } from "../options.ts";
import type { Inheritance, ServerDependencies } from "./build-dependencies.ts";

/** Options of a fork that change neither what is served nor what is stored at the start. */
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

/** Called in the turn of the event loop in which the store is copied. */
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

/** Undefined if the options of the fork make it start as a server on a foreign store does. */
export function inheritedWith(
  inheritance: Inheritance,
  changed: StartOptions,
): Inheritance | undefined {
  return Object.keys(changed).every((name) => neutral.has(name)) ? inheritance : undefined;
}
