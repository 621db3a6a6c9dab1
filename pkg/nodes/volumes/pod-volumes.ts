import { objectKey } from "#client";
import { type PersistentVolume, type Pod, type Volume } from "#kinds";
import { resolve } from "#meta";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import type { ConfigObjects } from "../environment/config-objects.ts";
import type { NodesContext } from "../settings.ts";
import { driverDelayMs, driverFailure, driverName } from "../storage/driver.ts";
import { ClaimedVolumes } from "./claimed-volumes.ts";
import { VolumeFiles } from "./volume-files.ts";

export interface PodVolumesOptions {
  readonly context: NodesContext;
  readonly events: KubeletEvents;
  readonly objects: ConfigObjects;
  /** Called with the key of a pod whose volumes may now be mountable. */
  readonly onChange: (pod: string) => void;
  /** Called with a pod after its volumes have been mounted. */
  readonly onMounted: (pod: Pod) => void;
  /** Called with the name of a node whose `volumesInUse` has changed. */
  readonly onInUse: (node: string) => void;
}

/** Reason why a kubelet cannot mount a volume. */
type Obstacle =
  | { readonly kind: "waiting" }
  /** The pod's volumes could not be determined. */
  | { readonly kind: "unprocessed"; readonly why: string }
  /** The operation on the volume failed: the whole message of the Event. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string };

interface MountState {
  readonly key: string;
  readonly node: string;
  isMounted: boolean;
  /** Unique names of attachable volumes. */
  inUse: readonly string[];
  /** Names of the objects for which the pod waits. */
  waitsFor: readonly string[];
  /** Time in ms at which all volumes became mountable. */
  mountableAt: number | undefined;
  failures: number;
  /** Time in ms of the next attempt that may record Events. */
  retryAt: number;
  /** Time in ms of the next timeout Event. */
  timeoutAt: number;
}

/** The kubelet's exponential backoff of a volume operation. */
const firstRetryMs = 500;
const maxRetryMs = 122_000;
/** The kubelet's podAttachAndMountTimeout. */
const timeoutMs = 123_000;

/** Mounts the volumes of pods, like the kubelet's volume manager. */
export class PodVolumes {
  private readonly states = new Map<string, MountState>();
  /** Keys of waiting pods, by name of the missing object. */
  private readonly waiting = new Map<string, Set<string>>();
  private readonly byNode = new Map<string, Set<MountState>>();
  private readonly files: VolumeFiles;
  readonly claimed: ClaimedVolumes;
  /** Name of the volume plugin for CSI drivers. */
  private readonly plugin: string;

  constructor(private readonly options: PodVolumesOptions) {
    const { context, objects } = options;
    const { informers, storageClient: client } = context;
    this.plugin = resolve("{label}/csi", client.domain);
    const wake = (name: string) => this.wake(name);
    this.files = new VolumeFiles(objects);
    objects.onChange(wake);
    objects.onSynced(() => {
      for (const name of this.waiting.keys()) this.wake(name);
    });
    this.claimed = new ClaimedVolumes(informers, client.domain, wake);
  }

  untilSynced(): Promise<void> {
    return this.claimed.untilSynced();
  }

  /**
   * Mounts the volumes of a pod if they are available.
   * @param isRunning whether its containers run already, e.g. after a restart of the process
   * @returns whether all are mounted, and the time in ms of the next attempt; a change of an object for which
   *   the pod waits also triggers one
   */
  mount(
    pod: Pod,
    { isRunning, now }: { readonly isRunning: boolean; readonly now: number },
  ): { readonly isMounted: boolean; readonly retryAt: number } {
    const volumes = pod.spec?.volumes ?? [];
    if (volumes.length === 0) return mounted;
    const state = this.stateOf(pod, now);
    if (state.isMounted) return mounted;
    const obstacles = new Map<string, Obstacle>();
    const waitsFor: string[] = [];
    const inUse: string[] = [];
    let delayMs = 0;
    for (const volume of volumes) {
      const look = this.look(volume, pod);
      waitsFor.push(...look.waitsFor);
      if (look.uniqueName !== undefined) inUse.push(look.uniqueName);
      if (look.obstacle !== undefined) obstacles.set(volume.name, look.obstacle);
      delayMs = Math.max(delayMs, look.delayMs ?? 0);
    }
    this.setInUse(state, inUse);
    if (isRunning || obstacles.size === 0) {
      state.mountableAt ??= now;
      if (isRunning || now >= state.mountableAt + delayMs) return this.finish(pod, state);
      return { isMounted: false, retryAt: state.mountableAt + delayMs };
    }
    state.mountableAt = undefined;
    this.waitFor(state, waitsFor);
    return { isMounted: false, retryAt: this.recordObstacles(pod, state, { obstacles, now }) };
  }

  /** Drops the mounts of a terminated or deleted pod. */
  unmount(uid: string): void {
    const state = this.states.get(uid);
    if (state === undefined) return;
    this.states.delete(uid);
    this.waitFor(state, []);
    const onNode = this.byNode.get(state.node);
    onNode?.delete(state);
    if (onNode?.size === 0) this.byNode.delete(state.node);
    if (state.inUse.length > 0) this.options.onInUse(state.node);
  }

  /** Whether the volumes of a pod are mounted. */
  isMounted(uid: string): boolean {
    return this.states.get(uid)?.isMounted === true;
  }

  /** `volumesInUse` of a node: sorted unique names of volumes that are mounted or about to be. */
  inUse(node: string): readonly string[] {
    const names = new Set<string>();
    for (const state of this.byNode.get(node) ?? []) {
      for (const name of state.inUse) names.add(name);
    }
    return [...names].sort();
  }

  private stateOf({ metadata, spec }: Pod, now: number): MountState {
    const known = this.states.get(metadata.uid);
    if (known !== undefined) return known;
    const state: MountState = {
      key: objectKey({ metadata }),
      node: spec?.nodeName ?? "",
      isMounted: false,
      inUse: [],
      waitsFor: [],
      mountableAt: undefined,
      failures: 0,
      retryAt: now,
      timeoutAt: now + timeoutMs,
    };
    this.states.set(metadata.uid, state);
    return state;
  }

  private finish(pod: Pod, state: MountState): typeof mounted {
    state.isMounted = true;
    this.waitFor(state, []);
    this.options.onMounted(pod);
    return mounted;
  }

  private setInUse(state: MountState, names: readonly string[]): void {
    if (names.join() === state.inUse.join()) return;
    state.inUse = names;
    const onNode = this.byNode.get(state.node) ?? new Set();
    onNode.add(state);
    this.byNode.set(state.node, onNode);
    this.options.onInUse(state.node);
  }

  private look(volume: Volume, pod: Pod): VolumeCheck {
    const { namespace = "", name: podName } = pod.metadata;
    const node = pod.spec?.nodeName ?? "";
    const files = this.files.missing(volume, namespace);
    if (files !== undefined) {
      const { objects: waitsFor, fault } = files;
      if (fault === undefined) return { waitsFor };
      if (!this.options.objects.isSynced) return { waitsFor, obstacle: { kind: "waiting" } };
      return { waitsFor, obstacle: failed("MountVolume.SetUp failed", volume.name, fault) };
    }
    if (volume.csi !== undefined) return this.lookAtInline(volume, node);
    const { persistentVolumeClaim, ephemeral } = volume;
    const claimName =
      persistentVolumeClaim?.claimName ?? (ephemeral && `${podName}-${volume.name}`);
    if (claimName === undefined) return { waitsFor: [] };
    const key = `${namespace}/${claimName}`;
    const waitsFor = this.claimed.dependencies(key, node);
    const state = this.claimed.stateOf(key, volume, pod);
    if (state.state === "unusable") {
      return { waitsFor, obstacle: { kind: "unprocessed", why: state.why } };
    }
    const found = { waitsFor, uniqueName: state.uniqueName };
    if (state.state === "waiting") return { ...found, obstacle: { kind: "waiting" } };
    return { ...found, ...this.checkDriver(state.volume, node) };
  }

  /** Checks the CSI driver of an attached volume. */
  private checkDriver({ metadata, spec }: PersistentVolume, node: string): Partial<VolumeCheck> {
    if (spec?.csi === undefined) return {};
    const { driver, volumeAttributes } = spec.csi;
    const isBlock = spec.volumeMode === "Block";
    const operation = isBlock ? "MapVolume.SetUpDevice failed" : "MountVolume.MountDevice failed";
    const reason = isBlock ? "FailedMapVolume" : "FailedMount";
    if (!this.claimed.hasDriver(driver, node)) {
      const caller = isBlock ? "blockMapper.SetUpDevice" : "attacher.MountDevice";
      const why =
        `${this.plugin}: ${caller} failed to create newCsiDriverClient: ` +
        `driver name ${driver} not found in the list of registered CSI drivers`;
      return { obstacle: failed(operation, metadata.name, why, reason) };
    }
    if (driver !== driverName) return {};
    const failure = driverFailure("mount", volumeAttributes);
    if (failure !== undefined) {
      return { obstacle: failed(operation, metadata.name, failure.message, reason) };
    }
    return { delayMs: driverDelayMs("mount", volumeAttributes) };
  }

  private lookAtInline({ name, csi }: Volume, node: string): VolumeCheck {
    const { driver = "", volumeAttributes } = csi ?? {};
    if (!this.claimed.hasDriver(driver, node)) {
      const why = `driver name ${driver} not found in the list of registered CSI drivers`;
      const operation = "MountVolume.SetUp failed";
      const what = `${this.plugin}: mounter.SetUpAt failed to get CSI client: ${why}`;
      return { waitsFor: [], obstacle: failed(operation, name, what) };
    }
    if (driver !== driverName) return { waitsFor: [] };
    const failure = driverFailure("mount", volumeAttributes);
    if (failure === undefined) {
      return { waitsFor: [], delayMs: driverDelayMs("mount", volumeAttributes) };
    }
    const what = `rpc error: code = ${failure.code} desc = ${failure.description}`;
    return { waitsFor: [], obstacle: failed("MountVolume.SetUp failed", name, what) };
  }

  /** Records Events of mount errors; returns the time in ms of the next attempt. */
  private recordObstacles(
    pod: Pod,
    state: MountState,
    { obstacles, now }: { readonly obstacles: ReadonlyMap<string, Obstacle>; readonly now: number },
  ): number {
    const all = [...obstacles];
    if (now >= state.timeoutAt) {
      state.timeoutAt = now + timeoutMs;
      this.record(pod, "FailedMount", unmountedMessage(all, "context deadline exceeded"));
    }
    const isStuck = all.some(([, { kind }]) => kind !== "waiting");
    if (!isStuck) return state.timeoutAt;
    if (now < state.retryAt) return Math.min(state.retryAt, state.timeoutAt);
    const whys = all.flatMap(([, each]) => (each.kind === "unprocessed" ? [each.why] : []));
    if (whys.length > 0) this.record(pod, "FailedMount", unmountedMessage(all, whys.join("; ")));
    for (const [, each] of all) {
      if (each.kind === "failed") this.record(pod, each.reason, each.message);
    }
    state.retryAt = now + Math.min(firstRetryMs * 2 ** state.failures, maxRetryMs);
    state.failures = Math.min(state.failures + 1, 20);
    return Math.min(state.retryAt, state.timeoutAt);
  }

  private record(pod: Pod, reason: string, message: string): void {
    this.options.events.recordPod(pod, { type: "Warning", reason, message });
  }

  private waitFor(state: MountState, names: readonly string[]): void {
    for (const name of state.waitsFor) {
      const keys = this.waiting.get(name);
      keys?.delete(state.key);
      if (keys?.size === 0) this.waiting.delete(name);
    }
    state.waitsFor = names;
    for (const name of names) {
      const keys = this.waiting.get(name) ?? new Set();
      keys.add(state.key);
      this.waiting.set(name, keys);
    }
  }

  private wake(name: string): void {
    for (const key of this.waiting.get(name) ?? []) this.options.onChange(key);
  }
}

/** Result of the check of one volume. */
interface VolumeCheck {
  readonly waitsFor: readonly string[];
  /** Unique name of an attachable volume. */
  readonly uniqueName?: string | undefined;
  /** Undefined = mountable. */
  readonly obstacle?: Obstacle;
  /** Time in ms that the mount takes. */
  readonly delayMs?: number;
}

const mounted = { isMounted: true, retryAt: Infinity };

function failed(operation: string, volume: string, why: string, reason = "FailedMount"): Obstacle {
  return { kind: "failed", reason, message: `${operation} for volume "${volume}" : ${why}` };
}

/** Message of the kubelet's FailedMount Event of a pod. */
function unmountedMessage(all: readonly (readonly [string, Obstacle])[], why: string): string {
  const list = (names: readonly (readonly [string, Obstacle])[]) =>
    `[${names.map(([name]) => name).join(" ")}]`;
  const unprocessed = all.filter(([, { kind }]) => kind === "unprocessed");
  const unattached = all.filter(([, { kind }]) => kind === "waiting");
  const lists =
    `unmounted volumes=${list(all)}, unattached volumes=${list(unattached)}, ` +
    `failed to process volumes=${list(unprocessed)}`;
  return `Unable to attach or mount volumes: ${lists}: ${why}`;
}
