/** Writes bindings and provisioning requests of a pod's volumes, and waits for the volume binder. */
import type { Clock } from "#base";
import { type ApiObject, objectKey } from "#client";
import {
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
} from "#kinds";
import type { PluginHandle } from "../../framework/handle.ts";
import type { PodVolumeFinder, PodVolumes, VolumeReservation } from "./pod-volumes.ts";

interface Binding {
  readonly pod: Pod;
  readonly node: string;
  readonly volumes: PodVolumes;
  readonly timeoutMs: number;
}

/**
 * Reserves volumes for the claims of a pod, sets the selected node on claims to provision, and waits until
 * all are bound.
 * @throws if a write fails, a binding is undone, the pod is deleted, or the timeout expires
 */
export async function bindVolumes(
  handle: PluginHandle,
  finder: PodVolumeFinder,
  binding: Binding,
): Promise<void> {
  const written = await write(handle, finder, binding.volumes);
  try {
    await untilBound(handle, finder, { ...binding, volumes: written });
  } catch (error) {
    if (handle.signal.aborted) throw error;
    throw new Error(`binding volumes: ${(error as Error).message}`, { cause: error });
  }
}

/** Writes the assumed objects; after an error the remaining assumptions are reverted. */
async function write(
  { client }: PluginHandle,
  finder: PodVolumeFinder,
  { bindings, provisions }: PodVolumes,
): Promise<PodVolumes> {
  const written: { bindings: VolumeReservation[]; provisions: PersistentVolumeClaim[] } = {
    bindings: [],
    provisions: [],
  };
  try {
    for (const { volume, claim } of bindings) {
      const updated = await client.update(persistentVolumes, volume);
      written.bindings.push({ volume: updated, claim });
    }
    for (const claim of provisions) {
      written.provisions.push(await client.update(persistentVolumeClaims, claim));
    }
  } catch (error) {
    finder.revert({
      bindings: bindings.slice(written.bindings.length),
      provisions: provisions.slice(written.provisions.length),
    });
    throw error;
  }
  return written;
}

async function untilBound(
  handle: PluginHandle,
  finder: PodVolumeFinder,
  binding: Binding,
): Promise<void> {
  const { clock, signal, informers } = handle;
  const life = new AbortController();
  let wake: () => void = () => undefined;
  let isLate = false;
  const stop = () => life.abort();
  signal.addEventListener("abort", stop, { once: true });
  const unsubscribe = [
    finder.claims.informer.subscribe(() => wake()),
    finder.volumes.informer.subscribe(() => wake()),
  ];
  clock.sleep(binding.timeoutMs, life.signal, { background: true }).then(
    () => {
      isLate = true;
      wake();
    },
    () => wake(),
  );
  void everySecond(clock, life.signal, () => wake());
  const node = () => informers.of(nodes).get(binding.node);
  try {
    for (;;) {
      signal.throwIfAborted();
      if (areBound(handle, finder, { ...binding, found: node() })) return;
      if (isLate) throw new Error("context deadline exceeded");
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    for (const end of unsubscribe) end();
    signal.removeEventListener("abort", stop);
    life.abort();
  }
}

/** Calls `work` every second until the signal aborts, since a pod's deletion changes no claim. */
async function everySecond(clock: Clock, signal: AbortSignal, work: () => void): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(1_000, signal, { background: true }).catch(() => undefined);
    work();
  }
}

/** Whether all claims are bound. @throws if the binding can no longer succeed */
function areBound(
  handle: PluginHandle,
  finder: PodVolumeFinder,
  {
    pod,
    node: nodeName,
    volumes: { bindings, provisions },
    found: node,
  }: Binding & { readonly found: Node | undefined },
): boolean {
  if (node === undefined) {
    throw new Error(`failed to get node "${nodeName}": node "${nodeName}" not found`);
  }
  const { name, uid } = pod.metadata;
  if (handle.currentPod(pod)?.metadata.uid !== uid) {
    throw new Error(`pod does not exist any more: pod "${name}" not found`);
  }
  return (
    bindings.every((each) => isVolumeBound(finder, each, node)) &&
    provisions.every((claim) => isProvisioned(finder, claim, node))
  );
}

function isVolumeBound(
  finder: PodVolumeFinder,
  { volume, claim }: VolumeReservation,
  node: Node,
): boolean {
  const shown = finder.volumes.informer.get(volume.metadata.name);
  const shownClaim = finder.claims.informer.get(objectKey(claim));
  if (shown === undefined || shownClaim === undefined) {
    const missing = shown === undefined ? volume.metadata.name : objectKey(claim);
    throw new Error(`failed to check binding: could not find object: "${missing}"`);
  }
  if (isOlder(shown, volume)) return false;
  checkReachable(finder, shown, node);
  if (!shown.spec?.claimRef?.uid) {
    throw new Error(`ClaimRef got reset for pv "${volume.metadata.name}"`);
  }
  return finder.isBound(shownClaim);
}

function isProvisioned(finder: PodVolumeFinder, claim: PersistentVolumeClaim, node: Node): boolean {
  const shown = finder.claims.informer.get(objectKey(claim));
  const { name } = claim.metadata;
  if (shown === undefined) {
    throw new Error(
      `failed to check provisioning pvc: could not find object: "${objectKey(claim)}"`,
    );
  }
  if (isOlder(shown, claim)) return false;
  const { annotations } = shown.metadata;
  if (annotations === undefined) throw new Error(`selectedNode annotation reset for PVC "${name}"`);
  if (annotations[finder.names.selectedNode] !== node.metadata.name) {
    throw new Error(`provisioning failed for PVC "${name}"`);
  }
  const { volumeName } = shown.spec ?? {};
  if (volumeName) {
    const volume = finder.volumes.informer.get(volumeName);
    if (volume === undefined) return false;
    checkReachable(finder, volume, node);
  }
  return finder.isBound(shown);
}

function checkReachable(finder: PodVolumeFinder, volume: PersistentVolume, node: Node): void {
  if (finder.isReachable(volume, node)) return;
  throw new Error(
    `pv "${volume.metadata.name}" node affinity doesn't match node "${node.metadata.name}": ` +
      "no matching NodeSelectorTerms",
  );
}

function isOlder({ metadata }: ApiObject, other: ApiObject): boolean {
  return BigInt(metadata.resourceVersion) < BigInt(other.metadata.resourceVersion);
}
