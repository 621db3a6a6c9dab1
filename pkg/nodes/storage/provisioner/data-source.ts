import type { Informer } from "#client";
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "#kinds";
import { requestedSize } from "./new-volume.ts";

/** A volume populator provisions the volume of the claim. */
export class ForeignDataSource extends Error {
  override readonly name = "ForeignDataSource";
}

export interface DataSourceContext {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
}

const notUsable = "claim in dataSource not bound or invalid";

/**
 * Source claim of a clone; undefined = the volume starts empty.
 * @throws ForeignDataSource for kinds of volume populators
 * @throws Error with external-provisioner's message if the source cannot be cloned
 */
export function cloneSource(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  context: DataSourceContext,
): PersistentVolumeClaim | undefined {
  const { dataSource } = claim.spec ?? {};
  const populated = claim.spec?.dataSourceRef;
  const source = dataSource ?? populated;
  if (source === undefined) return undefined;
  const { kind, name } = source;
  if (kind === "VolumeSnapshot") {
    throw new Error(
      "CSI driver does not support snapshot restore: " +
        "controller CREATE_DELETE_SNAPSHOT capability is not reported",
    );
  }
  if (kind !== "PersistentVolumeClaim" || (source.apiGroup ?? "") !== "") {
    throw new ForeignDataSource(
      `data source (${kind}) is not handled by the provisioner, ` +
        "assuming an external populator will provision it",
    );
  }
  const found = context.claims.get(`${claim.metadata.namespace}/${name}`);
  const why = found === undefined ? missing(claim, name) : faultOf(claim, found);
  const fault = why ?? volumeFault(claim, found!, { storageClass, ...context });
  if (fault === undefined) return found;
  throw new Error(`error getting handle for DataSource Type ${kind} by Name ${name}: ${fault}`);
}

function missing({ metadata }: PersistentVolumeClaim, name: string): string {
  const why = `persistentvolumeclaim ${JSON.stringify(name)} not found`;
  const where = `namespace ${JSON.stringify(metadata.namespace)}`;
  return `error getting PVC ${name} (${where}) from api server: ${why}`;
}

/** Reason why the source claim cannot be cloned; undefined = it can. */
function faultOf(claim: PersistentVolumeClaim, source: PersistentVolumeClaim): string | undefined {
  const { name, deletionTimestamp } = source.metadata;
  const { phase } = source.status ?? {};
  if (phase !== "Bound") {
    return `the PVC DataSource ${name} must have a status of Bound.  Got ${phase ?? "none"}`;
  }
  if (deletionTimestamp !== undefined) {
    return `the PVC DataSource ${name} is currently being deleted`;
  }
  if (source.spec?.storageClassName === undefined) {
    return `the source PVC (${name}) storageclass cannot be empty`;
  }
  const [wanted, present] = [requestedSize(claim).value(), requestedSize(source).value()];
  if (wanted >= present) return undefined;
  const rule =
    "new PVC request must be greater than or equal in size to the specified PVC data source";
  return `error, ${rule}, requested ${wanted} but source is ${present}`;
}

/** Reason why the source's volume cannot be cloned; undefined = it can. */
function volumeFault(
  claim: PersistentVolumeClaim,
  source: PersistentVolumeClaim,
  { volumes, storageClass }: DataSourceContext & { readonly storageClass: StorageClass },
): string | undefined {
  const { spec, status } = volumes.get(source.spec?.volumeName ?? "") ?? {};
  if (spec?.csi?.driver !== storageClass.provisioner) return notUsable;
  if (spec.claimRef?.uid !== source.metadata.uid || status?.phase !== "Bound") return notUsable;
  const [wanted, present] = [claim.spec?.volumeMode, spec.volumeMode].map(
    (mode) => mode ?? "Filesystem",
  );
  if (wanted === present) return undefined;
  const rule = "the source PVC and destination PVCs must have the same volume mode for cloning";
  return `${rule}.  Source is ${present}, but new PVC requested ${wanted}`;
}
