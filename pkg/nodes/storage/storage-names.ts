import { type Domain, resolve } from "#meta";
import { driverName } from "./driver.ts";

/** Annotations, finalizers and labels of the CSI sidecars in a domain. */
export class StorageNames {
  /** Of a claim: the provisioner that is to make a volume. */
  readonly provisioner: string;
  readonly betaProvisioner: string;
  /** Of a claim: the node that the scheduler chose. */
  readonly selectedNode: string;
  /** Of a volume: the provisioner that made it. */
  readonly provisionedBy: string;
  /** Of a volume: the Secret for its deletion; the simulated driver needs none. */
  readonly deletionSecretName: string;
  readonly deletionSecretNamespace: string;
  /** Of a volume: its size before an expansion that the node has not finished. */
  readonly preResizeCapacity: string;
  /** Of a VolumeAttachment: the node by the name that the driver has for it. */
  readonly nodeId: string;
  /** Finalizers. */
  readonly provisionerFinalizer: string;
  readonly attacherFinalizer: string;
  readonly cloningFinalizer: string;
  readonly claimFinalizer: string;
  /** Key in the attributes of a volume: the process that made it. */
  readonly provisionerIdentity: string;
  /** Prefix of parameters that are for the sidecars, not for the driver. */
  readonly sidecarParameters: string;
  readonly fsType: string;
  /** Labels of CSIStorageCapacities. */
  readonly driverLabel: string;
  readonly managedByLabel: string;
  readonly isDefaultClass: string;
  private readonly betaClass: string;

  constructor(domain: Domain) {
    const name = (template: string) => resolve(template, domain);
    this.provisioner = name("volume.{label}/storage-provisioner");
    this.betaProvisioner = name("volume.beta.{label}/storage-provisioner");
    this.selectedNode = name("volume.{label}/selected-node");
    this.provisionedBy = name("pv.{label}/provisioned-by");
    this.deletionSecretName = name("volume.{label}/provisioner-deletion-secret-name");
    this.deletionSecretNamespace = name("volume.{label}/provisioner-deletion-secret-namespace");
    this.preResizeCapacity = name("volume.alpha.{label}/pre-resize-capacity");
    this.nodeId = name("csi.alpha.{label}/node-id");
    this.provisionerFinalizer = name("external-provisioner.volume.{label}/finalizer");
    this.attacherFinalizer = `external-attacher/${driverName.replace(/[^a-zA-Z0-9-]/g, "-")}`;
    this.cloningFinalizer = name("provisioner.storage.{label}/cloning-protection");
    this.claimFinalizer = name("{label}/pvc-protection");
    this.provisionerIdentity = name("storage.{label}/csiProvisionerIdentity");
    this.sidecarParameters = name("csi.storage.{api}/");
    this.fsType = `${this.sidecarParameters}fstype`;
    this.driverLabel = name("csi.storage.{api}/drivername");
    this.managedByLabel = name("csi.storage.{api}/managed-by");
    this.isDefaultClass = name("storageclass.{label}/is-default-class");
    this.betaClass = name("volume.beta.{label}/storage-class");
  }

  /** Name of the storage class of a claim; "" = none. */
  classOf({ metadata, spec }: Classed): string {
    return metadata.annotations?.[this.betaClass] ?? spec?.storageClassName ?? "";
  }
}

interface Classed {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly storageClassName?: string };
}
