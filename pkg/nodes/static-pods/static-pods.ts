import { watch } from "node:fs";
import { setBounded } from "#base";
import { type Informer, objectKey, WorkQueue } from "#client";
import { type Pod, pods } from "#kinds";
import { isAlreadyExists, isConflict, isNotFound } from "#meta";
import type { PodHost } from "../pod/pod-host.ts";
import type { NodesContext } from "../settings.ts";
import { TimerHeap } from "../timers.ts";
import { readManifests } from "./manifest-folder.ts";
import {
  mirrorKey,
  mirrorOf,
  type StaticPod,
  type StaticPodNames,
  staticPodNames,
  staticPodOf,
} from "./mirror-pod.ts";

export interface StaticPodsOptions {
  readonly context: NodesContext;
  /** File or folder with the manifests of static pods; undefined = none. */
  readonly path: string | undefined;
  readonly pods: Informer<Pod>;
  /** Names of the nodes of the process. */
  readonly nodes: () => Iterable<string>;
  readonly hostOf: (node: string) => PodHost | undefined;
  /** Called with the key of a mirror pod whose static pod has changed or was removed. */
  readonly onChange: (key: string) => void;
}

/** Interval of manifest reads: the kubelet's fileCheckFrequency. */
const checkMs = 20_000;
/** Delay of a read after a file change, for programs that write in parts. */
const debounceMs = 100;
const maxCached = 1_000;
const workers = 8;
const retryDelays = { firstMs: 200, maxMs: 60_000 };
/** Queue key of a manifest read; keys of pods contain a slash. */
const readKey = "manifests";

/**
 * Static pods of the nodes. Creates their mirror pods, and recreates those that a client has deleted, while
 * the containers keep running.
 */
export class StaticPods {
  private readonly names: StaticPodNames;
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  /** Static pods by key of their mirror pod. */
  private known = new Map<string, StaticPod>();
  /** Whether the manifests have been read: then mirror pods without a manifest are orphans. */
  private isRead = false;
  /** Last error of each skipped file, which is reported once. */
  private readonly refused = new Map<string, string>();

  constructor(private readonly options: StaticPodsOptions) {
    const { context } = options;
    this.names = staticPodNames(context.clientOf("").domain);
    this.queue = new WorkQueue({ ...context, name: "static_pods", delays: retryDelays });
    this.timers = new TimerHeap(context.clock, context.signal, (key) => this.queue.add(key));
  }

  /** Reads the manifests before the nodes sync their pods. */
  async start(): Promise<void> {
    const { path } = this.options;
    if (path === undefined) this.isRead = true;
    else await this.read(path).catch((error: unknown) => this.refuse(path, error));
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { pods: informer, path } = this.options;
    const unsubscribe = informer.subscribe(({ object }) => {
      if (this.mirroredUid(object) !== undefined) this.queue.add(objectKey(object));
    });
    if (path !== undefined) this.watch(path);
    await this.queue.run((key) => this.sync(key), { workers });
    unsubscribe();
  }

  /** Enqueues the static pods of a node whose kubelet starts to work. */
  resync(node: string): void {
    for (const [key, each] of this.known) if (each.node === node) this.queue.add(key);
  }

  /** Whether a node runs a static pod whose mirror has this key. */
  has(key: string): boolean {
    return this.known.has(key);
  }

  /** UID of a pod on its node: for a mirror pod that of the static pod. */
  uidOf(pod: Pod): string {
    return this.mirroredUid(pod) ?? pod.metadata.uid;
  }

  /** Whether the pod mirrors a static pod that its node runs. */
  isMirror(pod: Pod): boolean {
    const uid = this.mirroredUid(pod);
    return uid !== undefined && this.known.get(objectKey(pod))?.uid === uid;
  }

  /** Whether the pod mirrors a removed static pod. */
  isOrphan(pod: Pod): boolean {
    return this.isRead && this.mirroredUid(pod) !== undefined && !this.isMirror(pod);
  }

  /** The pod without the deletion of its mirror, which does not affect a static pod. */
  withoutMirrorDeletion(pod: Pod): Pod {
    const uid = this.mirroredUid(pod);
    if (uid === undefined) return pod;
    const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...metadata } = pod.metadata;
    return { ...pod, metadata: { ...metadata, uid } };
  }

  private mirroredUid({ metadata: { annotations } }: Pod): string | undefined {
    return annotations?.[this.names.mirror];
  }

  private async sync(key: string): Promise<void> {
    const { path } = this.options;
    if (key === readKey) return path === undefined ? undefined : this.read(path);
    const staticPod = this.known.get(key);
    const host = this.options.hostOf(staticPod?.node ?? "");
    if (staticPod === undefined || host?.isWorking !== true || host.object === undefined) return;
    const mirror = this.options.pods.get(key);
    try {
      if (mirror === undefined) {
        await host.client.create(pods, mirrorOf(staticPod, host.object, this.names));
      } else if (this.isMirror(mirror) && mirror.metadata.deletionTimestamp !== undefined) {
        const { namespace = "", name, uid } = mirror.metadata;
        const options = { gracePeriodSeconds: 0, preconditions: { uid } };
        await host.client.delete(pods, { namespace, name }, options);
      }
    } catch (error) {
      // The informer will show the current pod.
      if (!isAlreadyExists(error) && !isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  private async read(path: string): Promise<void> {
    const { context, nodes, onChange } = this.options;
    const { clock } = context;
    this.timers.set(readKey, clock.monotonic() + checkMs);
    const manifests = await readManifests(path, (file, error) => this.refuse(file, error));
    const found = new Map<string, StaticPod>();
    for (const node of nodes()) {
      for (const manifest of manifests) {
        if (manifest.node !== undefined && manifest.node !== node) continue;
        const key = mirrorKey(manifest, node);
        const staticPod = staticPodOf(manifest, node, clock.now());
        const before = this.known.get(key);
        found.set(key, before?.uid === staticPod.uid ? before : staticPod);
      }
    }
    const before = this.known;
    this.known = found;
    this.isRead = true;
    for (const key of new Set([...before.keys(), ...found.keys()])) {
      if (before.get(key) === found.get(key)) continue;
      this.queue.add(key);
      onChange(key);
    }
  }

  private refuse(file: string, error: unknown): void {
    if (this.refused.get(file) === String(error)) return;
    setBounded(this.refused, [file, String(error)], maxCached);
    this.options.context.report(`Failed to read the static pods of ${file}`, error);
  }

  /** Watches the manifests; without file notifications only the interval applies. */
  private watch(path: string): void {
    const { clock, signal, report } = this.options.context;
    const soon = () => this.timers.set(readKey, clock.monotonic() + debounceMs);
    const fail = (error: unknown) => report(`Failed to watch the static pods of ${path}`, error);
    try {
      watch(path, { recursive: true, persistent: false, signal }, soon).on("error", fail);
    } catch (error) {
      fail(error);
    }
  }
}
