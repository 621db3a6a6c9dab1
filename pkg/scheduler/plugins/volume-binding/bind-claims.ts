import { type Informer, objectKey } from "#client";
import { namespaceOf, type PersistentVolumeClaim, persistentVolumeClaims } from "#kinds";
import { resolve } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";

/** Time in ms for which the scheduler waits until the claims of a pod are bound. */
const bindTimeoutMs = 600_000;

interface Binding {
  readonly delayed: readonly PersistentVolumeClaim[];
  readonly node: string;
}

/**
 * Tells the node to the provisioners, and waits until the claims are bound.
 * @throws if a provisioner gives the node up, and after ten minutes
 */
export async function bindClaims(
  { client, clock, signal, domain }: PluginHandle,
  informer: Informer<PersistentVolumeClaim>,
  { delayed, node }: Binding,
): Promise<void> {
  const selectedNode = resolve("volume.{label}/selected-node", domain);
  for (const { metadata } of delayed) {
    const at = { namespace: namespaceOf({ metadata }), name: metadata.name };
    const { uid } = metadata;
    const body = { metadata: { uid, annotations: { [selectedNode]: node } } };
    await client.patch(persistentVolumeClaims, at, { type: "merge", body });
  }
  const seen = new Set<string>();
  const isBound = (claim: PersistentVolumeClaim): boolean => {
    const current = informer.get(objectKey(claim));
    const chosen = current?.metadata.annotations?.[selectedNode];
    if (chosen === node) seen.add(claim.metadata.uid);
    if (current === undefined || (seen.has(claim.metadata.uid) && chosen !== node)) {
      throw new Error(`volume of claim ${objectKey(claim)} cannot be provisioned on ${node}`);
    }
    return !!current.spec?.volumeName && current.status?.phase === "Bound";
  };
  const life = new AbortController();
  const stop = () => life.abort();
  signal.addEventListener("abort", stop, { once: true });
  let wake: () => void = () => undefined;
  const unsubscribe = informer.subscribe(() => wake());
  let isLate = false;
  clock.sleep(bindTimeoutMs, life.signal, { background: true }).then(
    () => {
      isLate = true;
      wake();
    },
    () => wake(),
  );
  try {
    while (!delayed.map(isBound).every(Boolean)) {
      signal.throwIfAborted();
      if (isLate) throw new Error("timed out waiting for the claims of the pod to be bound");
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", stop);
    life.abort();
  }
}
