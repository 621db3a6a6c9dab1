import {
  type ApiObject,
  type Handle,
  type Informer,
  type Informers,
  type OwnerReference,
} from "#client";
import { deployments, type Pod, replicaSets, replicationControllers, statefulSets } from "#kinds";
import { goQuote, groupVersionOf, isNotFound } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { controllerOf } from "../owners/controller-ref.ts";

/** Total replicas of the controllers of some pods. */
export interface ExpectedScale {
  readonly count: number;
  /** Whether some pod has no controller. */
  readonly hasUnmanaged: boolean;
}

/** A workload with a number of replicas. */
export interface Workload extends ApiObject {
  readonly spec?: { readonly replicas?: number };
}

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

/** Resolves the controllers of pods and their replicas. */
export class ControllerScales {
  /** Workloads that may control pods, ReplicationControllers first. */
  readonly informers: readonly Informer<Workload>[];
  private readonly replicationControllers: Informer<Workload>;
  private readonly replicaSets: Informer<Workload>;
  private readonly deployments: Informer<Workload>;
  private readonly statefulSets: Informer<Workload>;

  constructor(
    private readonly context: ControllerContext,
    informers: Informers,
  ) {
    this.replicationControllers = informers.of<Workload>(replicationControllers);
    this.replicaSets = informers.of<Workload>(replicaSets);
    this.deployments = informers.of<Workload>(deployments);
    this.statefulSets = informers.of<Workload>(statefulSets);
    this.informers = [
      this.replicationControllers,
      this.replicaSets,
      this.deployments,
      this.statefulSets,
    ];
  }

  /** Sums the replicas of the controllers of all pods; each controller counts once. */
  async expectedScale(pods: readonly Pod[]): Promise<ExpectedScale> {
    const scales = new Map<string, number>();
    const resolved = new Set<string>();
    let hasUnmanaged = false;
    for (const pod of pods) {
      const owner = controllerOf(pod);
      if (owner === undefined) hasUnmanaged = true;
      if (owner === undefined || resolved.has(owner.uid)) continue;
      resolved.add(owner.uid);
      const { namespace = "", name } = pod.metadata;
      const scale = this.cachedScale(namespace, owner) ?? (await this.liveScale(namespace, owner));
      if (scale === undefined) throw new Error(`found no controllers for pod ${goQuote(name)}`);
      scales.set(scale.uid, scale.replicas);
    }
    const count = [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
    return { count, hasUnmanaged };
  }

  /** Scale of a controller of a built-in kind, from the informers. */
  private cachedScale(namespace: string, owner: OwnerReference): Scale | undefined {
    const group = groupOf(owner);
    const named = (informer: Informer<Workload>, { name, uid }: OwnerReference) => {
      const found = informer.get(`${namespace}/${name}`);
      return found?.metadata.uid === uid ? found : undefined;
    };
    if (owner.kind === "ReplicationController" && group === "") {
      return scaleIn(named(this.replicationControllers, owner));
    }
    if (owner.kind === "StatefulSet" && group === "apps") {
      return scaleIn(named(this.statefulSets, owner));
    }
    const isOfApps = group === "apps" || group === "extensions";
    if (owner.kind !== "ReplicaSet" || !isOfApps) return undefined;
    const set = named(this.replicaSets, owner);
    const deployment = set && controllerOf(set);
    // During a rollout the Deployment has the total of its ReplicaSets.
    if (deployment?.kind === "Deployment") return scaleIn(named(this.deployments, deployment));
    return scaleIn(set);
  }

  /** Scale of a controller of any kind, from its scale subresource. */
  private async liveScale(namespace: string, owner: OwnerReference): Promise<Scale | undefined> {
    const { client } = this.context;
    const { apiVersion, kind, name, uid } = owner;
    const group = groupOf(owner);
    const { resources } = await client.discover();
    const resource = resources.find(
      (each) => each.kind === kind && groupVersionOf(each.group, each.version) === apiVersion,
    );
    if (resource === undefined) {
      throw new Error(`no matches for kind ${goQuote(kind)} in version ${goQuote(apiVersion)}`);
    }
    if (!resource.subresources.includes("scale")) {
      const { plural } = resource;
      const resourceName = group === "" ? plural : `${plural}.${group}`;
      throw new Error(`${resourceName} does not implement the scale subresource`);
    }
    const handle: Handle<Workload> = resource;
    const found = await client
      .get(handle, { namespace, name, subresource: "scale" })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return found?.metadata.uid === uid ? scaleIn(found) : undefined;
  }
}

function groupOf({ apiVersion }: OwnerReference): string {
  return apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
}

function scaleIn(found: Workload | undefined): Scale | undefined {
  return found && { uid: found.metadata.uid, replicas: found.spec?.replicas ?? 0 };
}
