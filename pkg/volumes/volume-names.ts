import type { ApiObject } from "#client";
import type { StorageClass } from "#kinds";
import { type Domain, resolve } from "#meta";

/** Annotations of volumes, claims and storage classes, with the label domain. */
export class VolumeNames {
  /** On a claim: the binder has completed the binding. */
  readonly bindCompleted: string;
  /** On a volume or claim: the binding was made by the binder, which may undo it. */
  readonly boundByController: string;
  /** On a volume: the provisioner that created it. */
  readonly provisionedBy: string;
  /** On a volume: its size before an expansion that the node has not completed. */
  readonly preResizeCapacity: string;
  /** On a claim: the provisioner that is to create a volume. */
  readonly provisioner: string;
  /** Beta form of `provisioner`. */
  readonly betaProvisioner: string;
  /** On a claim: the node selected by the scheduler. */
  readonly selectedNode: string;
  /** Prefix of the names of in-tree provisioners. */
  readonly inTree: string;
  private readonly betaClass: string;
  private readonly defaultClass: readonly string[];

  constructor(domain: Domain) {
    const name = (template: string) => resolve(template, domain);
    this.bindCompleted = name("pv.{label}/bind-completed");
    this.boundByController = name("pv.{label}/bound-by-controller");
    this.preResizeCapacity = name("volume.alpha.{label}/pre-resize-capacity");
    this.provisionedBy = name("pv.{label}/provisioned-by");
    this.provisioner = name("volume.{label}/storage-provisioner");
    this.betaProvisioner = name("volume.beta.{label}/storage-provisioner");
    this.selectedNode = name("volume.{label}/selected-node");
    this.inTree = name("{label}/");
    this.betaClass = name("volume.beta.{label}/storage-class");
    this.defaultClass = [
      name("storageclass.{label}/is-default-class"),
      name("storageclass.beta.{label}/is-default-class"),
    ];
  }

  /** Name of the storage class of a claim or volume; "" = none. */
  classOf({ metadata, spec }: WithClass): string {
    return metadata.annotations?.[this.betaClass] ?? spec?.storageClassName ?? "";
  }

  /** Whether a claim specifies a class, including "". */
  hasClass({ metadata, spec }: WithClass): boolean {
    return (metadata.annotations?.[this.betaClass] ?? spec?.storageClassName) !== undefined;
  }

  /** Whether the class is annotated as the default. */
  isDefaultClass({ metadata: { annotations = {} } }: StorageClass): boolean {
    return this.defaultClass.some((name) => annotations[name] === "true");
  }
}

type WithClass = ApiObject & { readonly spec?: { readonly storageClassName?: string } };
