import { createHash } from "node:crypto";
import { type Client, type Handle, type Informer, WorkQueue } from "#client";
import { type Device, type Node, nodes, type ResourceSlice, resourceSlices } from "#kinds";
import { ignoreNotFound } from "#meta";
import { prefix } from "../annotations.ts";
import type { NodesContext } from "../settings.ts";
import {
  DeviceAnnotationFault,
  deviceDriver,
  devicesText,
  parseDevices,
} from "./device-annotations.ts";

/** Maximum number of devices per slice: half of the API's limit without taints. */
const devicesPerSlice = 64;
/** Annotation of slices with a digest of their source. */
const digestKey = `${prefix}/devices-digest`;
const byNode = "node";
const workers = 8;
const retryDelays = { firstMs: 200, maxMs: 30_000 };

export interface SlicePublisherOptions {
  readonly context: NodesContext;
  readonly nodes: Informer<Node>;
  /** Whether this process simulates the node. */
  readonly isOwn: (node: string) => boolean;
}

/** Publishes the devices of nodes in ResourceSlices, like a DRA driver. */
export class SlicePublisher {
  private readonly client: Client;
  private readonly handle: Handle<ResourceSlice>;
  private readonly queue: WorkQueue;
  private slices: Informer<ResourceSlice> | undefined;

  constructor(private readonly options: SlicePublisherOptions) {
    const { context } = options;
    this.client = context.storageClient;
    this.handle = resourceSlices(this.client.domain);
    this.queue = new WorkQueue({ ...context, name: "simulated_devices", delays: retryDelays });
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { nodes: informer, isOwn } = this.options;
    const unsubscribe = informer.subscribe(({ object }) => {
      const { name } = object.metadata;
      // Without devices the resource API is not needed.
      const isConcerned = this.slices !== undefined || devicesText(object) !== undefined;
      if (isConcerned && isOwn(name)) this.queue.add(name);
    });
    await this.queue.run((name) => this.sync(name), { workers });
    unsubscribe();
  }

  private async sync(name: string): Promise<void> {
    const slices = await this.informer();
    const node = this.options.nodes.get(name);
    const text = node === undefined ? undefined : devicesText(node);
    const present = slices.indexed(byNode, name).filter(({ spec }) => spec.driver === deviceDriver);
    if (node === undefined || text === undefined) return this.withdraw(present);
    const devices = this.devicesOf(name, text);
    if (devices === undefined) return;
    const parts = chunksOf(devices);
    const digest = createHash("sha256").update(`${node.metadata.uid} ${text}`).digest("hex");
    const isCurrent = (slice: ResourceSlice) => slice.metadata.annotations?.[digestKey] === digest;
    if (present.length === parts.length && present.every(isCurrent)) return;
    const generations = present.map(({ spec }) => Number(spec.pool.generation));
    const generation = Math.max(0, ...generations) + 1;
    const pool = { name, generation, resourceSliceCount: parts.length };
    const names = parts.map((_, at) => `${name}-${deviceDriver}-${at}`);
    for (const [at, part] of parts.entries()) {
      const known = present.find(({ metadata }) => metadata.name === names[at]);
      const draft = {
        metadata: metadataOf(node, names[at]!, digest),
        spec: { driver: deviceDriver, nodeName: name, pool, devices: part },
      };
      if (known === undefined) await this.client.create(this.handle, draft);
      else {
        const { resourceVersion, uid } = known.metadata;
        const metadata = { ...draft.metadata, resourceVersion, uid };
        await this.client.update(this.handle, { ...draft, metadata });
      }
    }
    await this.withdraw(present.filter(({ metadata }) => !names.includes(metadata.name)));
  }

  private devicesOf(node: string, text: string): readonly Device[] | undefined {
    try {
      return parseDevices(text);
    } catch (error) {
      if (!(error instanceof DeviceAnnotationFault)) throw error;
      this.options.context.report(`Ignoring annotation ${prefix}/devices of node ${node}`, error);
      return undefined;
    }
  }

  private async withdraw(slices: readonly ResourceSlice[]): Promise<void> {
    for (const { metadata } of slices) {
      await this.client.delete(this.handle, { name: metadata.name }).catch(ignoreNotFound);
    }
  }

  private async informer(): Promise<Informer<ResourceSlice>> {
    if (this.slices === undefined) {
      this.slices = this.options.context.informers.of(this.handle);
      this.slices.addIndex(byNode, ({ spec }) => [spec.nodeName ?? ""]);
    }
    await this.slices.untilSynced();
    return this.slices;
  }
}

/** Splits devices into slices; at least one, since a driver without devices publishes an empty slice. */
function chunksOf(devices: readonly Device[]): readonly (readonly Device[])[] {
  const count = Math.max(1, Math.ceil(devices.length / devicesPerSlice));
  return Array.from({ length: count }, (_, at) =>
    devices.slice(at * devicesPerSlice, (at + 1) * devicesPerSlice),
  );
}

function metadataOf(node: Node, name: string, digest: string) {
  const owner = { apiVersion: nodes.version, kind: nodes.kind, controller: true };
  const ownerReferences = [{ ...owner, name: node.metadata.name, uid: node.metadata.uid }];
  return { name, annotations: { [digestKey]: digest }, ownerReferences };
}
