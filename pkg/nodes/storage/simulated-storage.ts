import { hostname } from "node:os";
import { CoreEventRecorder, Informers, runElection, defaultElectionTimes } from "#client";
import { persistentVolumes } from "#kinds";
import { Attacher } from "./attacher.ts";
import { Capacities } from "./provisioner/capacities.ts";
import { createClusterObjects } from "./cluster-objects.ts";
import type { StorageContext } from "./context.ts";
import { driverName } from "./driver.ts";
import { Modifier } from "./resizer/modifier.ts";
import { StoragePool } from "./provisioner/pool.ts";
import { Provisioner } from "./provisioner/provisioner.ts";
import { Resizer } from "./resizer/resizer.ts";
import { StorageNames } from "./storage-names.ts";
import { Topology } from "./topology.ts";
import { VolumeDeleter } from "./provisioner/volume-deleter.ts";

export interface StorageSettings {
  /** Name of the default StorageClass to create; "" = none. */
  readonly defaultClass: string;
  /** Whether the driver runs in one of several processes, elected by a Lease. */
  readonly isElected: boolean;
}

export type SimulatedStorage = Omit<StorageContext, "names" | "recorder">;

const retryMs = 1_000;
/** Namespace of the election Lease. */
const leaseNamespace = "kube-system";
const leaseName = driverName.replaceAll(".", "-");

/** Runs the controllers of the simulated CSI driver until the signal aborts. */
export async function runStorage(
  context: SimulatedStorage,
  settings: StorageSettings,
): Promise<void> {
  const identity = `${hostname()}_${context.random.uuid()}`;
  if (!settings.isElected) return runSidecars(context, { ...settings, identity });
  while (!context.signal.aborted) {
    await runElection({
      ...context,
      ...defaultElectionTimes,
      namespace: leaseNamespace,
      name: leaseName,
      identity,
      lead: async (signal) => {
        const informers = new Informers({ ...context, signal });
        await runSidecars({ ...context, informers, signal }, { ...settings, identity });
        await informers.ended();
      },
    });
  }
}

async function runSidecars(
  context: SimulatedStorage,
  { defaultClass, identity }: StorageSettings & { readonly identity: string },
): Promise<void> {
  const { client, informers } = context;
  const names = new StorageNames(client.domain);
  const provisionerEvents = new CoreEventRecorder(context, `${driverName}_${identity}`);
  const resizerEvents = new CoreEventRecorder(context, `external-resizer ${driverName}`);
  const provisioning = { ...context, names, recorder: provisionerEvents };
  const resizing = { ...context, names, recorder: resizerEvents };
  const topology = new Topology(informers, client.domain);
  const pool = new StoragePool(informers.of(persistentVolumes));
  await Promise.all([
    untilDone(context, () => createClusterObjects(client, names, defaultClass)),
    provisionerEvents.run(),
    resizerEvents.run(),
    new Provisioner({ context: provisioning, topology, pool }).run(),
    new VolumeDeleter(provisioning).run(),
    new Capacities(provisioning, topology, pool).run(),
    new Attacher(provisioning, topology).run(),
    new Resizer(resizing).run(),
    new Modifier(resizing).run(),
  ]);
}

/** Retries work that must be done once, until the signal aborts. */
async function untilDone(
  { clock, signal, report }: SimulatedStorage,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return;
      report("Failed to create the objects of the simulated CSI driver", error);
    }
    await clock.sleep(retryMs, signal, { background: true }).catch(() => undefined);
  }
}
