import type { Handle } from "#client";
import { ignoreNotFound, resolve } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { isServed } from "../is-served.ts";

/** Maximum age of a request: by then its kubelet has given up. */
const retentionMs = 15 * 60_000;
const intervalMs = 5 * 60_000;

/** Deletes old PodCertificateRequests, if they are served. */
export async function runPodCertificateRequestCleaner(context: ControllerContext): Promise<void> {
  const { client, clock, informers, signal, report } = context;
  const group = resolve("certificates.{api}", client.domain);
  const names = { plural: "podcertificaterequests", kind: "PodCertificateRequest" };
  const handle: Handle = { group, version: "v1alpha1", ...names, namespaced: true };
  if (!(await isServed(context, handle))) return;
  const requests = informers.of(handle);
  await requests.untilSynced();
  while (!signal.aborted) {
    const now = clock.now();
    for (const { metadata } of requests.all()) {
      const { namespace = "", name, uid, creationTimestamp = "" } = metadata;
      if (now < Date.parse(creationTimestamp) + retentionMs) continue;
      await client
        .delete(handle, { namespace, name }, { preconditions: { uid } })
        .catch(ignoreNotFound)
        .catch((error: unknown) =>
          report(`Failed to delete PodCertificateRequest ${namespace}/${name}`, error),
        );
    }
    await clock.sleep(intervalMs, signal, { background: true }).catch(() => undefined);
  }
}
