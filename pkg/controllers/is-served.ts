import type { Handle } from "#client";
import type { ControllerContext } from "./controller-context.ts";

/** Retry interval of discovery. */
const retryMs = 1_000;

/**
 * Whether the API serves a resource, which depends on feature gates and `--runtime-config`. Retries discovery
 * until it succeeds; false if the controller is stopped.
 */
export async function isServed(
  { client, clock, signal, report }: ControllerContext,
  { group, version, plural }: Handle,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const { resources } = await client.discover();
      return resources.some(
        (each) => each.group === group && each.version === version && each.plural === plural,
      );
    } catch (error) {
      if (!signal.aborted) report("Failed to read discovery", error);
    }
    await clock.sleep(retryMs, signal, { background: true }).catch(() => undefined);
  }
  return false;
}
