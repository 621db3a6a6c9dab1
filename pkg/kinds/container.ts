/** Containers of pods and their statuses. */
import type { Amounts } from "#quota";

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export interface ResourceRequirements {
  readonly requests?: Amounts;
  readonly limits?: Amounts;
  /** ResourceClaims of the pod that the container uses, by their names in the pod. */
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  /** File or folder of the volume that is mounted; absent = all of it. */
  readonly subPath?: string;
  /** The same, with references to the environment. */
  readonly subPathExpr?: string;
  readonly readOnly?: boolean;
}

interface ObjectEntry {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: ResourceFieldSelector;
    readonly configMapKeyRef?: ObjectEntry;
    readonly secretKeyRef?: ObjectEntry;
  };
}

export interface ResourceFieldSelector {
  readonly containerName?: string;
  /** `limits.cpu`, `requests.memory` and so on. */
  readonly resource: string;
  readonly divisor?: string;
}

interface WholeObject {
  readonly name?: string;
  readonly optional?: boolean;
}

/** All entries of a ConfigMap or Secret as environment variables. */
export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: WholeObject;
  readonly secretRef?: WholeObject;
}

/** A hook of a container. */
export interface LifecycleHandler {
  readonly exec?: ExecAction;
  readonly sleep?: { readonly seconds?: number | bigint };
}

export interface ExecAction {
  readonly command?: readonly string[];
}

/** A probe of a container; integers have their defaults. */
export interface Probe {
  readonly exec?: ExecAction;
  readonly httpGet?: { readonly port: number | bigint | string };
  readonly tcpSocket?: { readonly port: number | bigint | string };
  readonly grpc?: object;
  readonly initialDelaySeconds?: number | bigint;
  readonly periodSeconds?: number | bigint;
  readonly timeoutSeconds?: number | bigint;
  readonly successThreshold?: number | bigint;
  readonly failureThreshold?: number | bigint;
  readonly terminationGracePeriodSeconds?: number | bigint;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly restartPolicy?: string;
  readonly ports?: readonly ContainerPort[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  /** File that holds why the container has ended; absent = `/dev/termination-log`. */
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly resources?: ResourceRequirements;
  readonly resizePolicy?: readonly {
    readonly resourceName: string;
    readonly restartPolicy: string;
  }[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly volumeDevices?: readonly { readonly name: string; readonly devicePath: string }[];
  readonly lifecycle?: {
    readonly postStart?: LifecycleHandler;
    readonly preStop?: LifecycleHandler;
  };
}

export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
  readonly containerID?: string;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: ContainerStateTerminated;
}

export interface VolumeMountStatus extends VolumeMount {
  readonly recursiveReadOnly?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
  readonly started?: boolean;
  readonly allocatedResources?: Amounts;
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMountStatus[];
  readonly allocatedResourcesStatus?: readonly {
    readonly name: string;
    readonly resources?: readonly { readonly resourceID: string; readonly health?: string }[];
  }[];
}

/** Whether an init container is a sidecar: it runs beside the containers and is restarted. */
export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}
