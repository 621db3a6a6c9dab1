/** Validation of pod volumes. */
import type { Infer, Path, Problems } from "#schema";
import {
  checkAnnotations,
  checkLabels,
  type Domain,
  isDns1123Label,
  isDns1123Subdomain,
  type objectMeta,
  Quantity,
} from "#meta";
import { invalidEach } from "../../strategy.ts";
import { checkClaimSpec } from "../persistent-volume/persistent-volume-claim-rules.ts";
import { checkMode } from "../shared/path-rules.ts";
import { checkDownwardFiles, checkItems, checkProjected } from "./projected-volume-rules.ts";
import { checkPullPolicy } from "../pod/container/pull-policy.ts";
import {
  checkAzureDisk,
  checkDriverName,
  checkFc,
  checkFlex,
  checkFlocker,
  checkGitRepo,
  checkHostPath,
  checkIscsi,
  checkNfs,
  checkPartition,
  checkQuobyte,
  checkSecretName,
  checkStorageOs,
  isLongTarget,
  targetTooLongMessage,
  requireFields,
  type Source,
} from "./volume-source-rules.ts";
import type { Volume } from "./volumes.ts";

type SourceName = keyof Source;
type Check<N extends SourceName> = (source: Source[N], path: Path, problems: Problems) => void;

type Checks<Names extends SourceName> = { readonly [N in Names]: Check<N> };
type LastSource = "scaleIO" | "csi" | "ephemeral" | "image";

const firstChecks: Checks<Exclude<SourceName, LastSource | "projected">> = {
  emptyDir: ({ sizeLimit }, path, problems) => {
    if (sizeLimit === undefined || Quantity.parse(sizeLimit).sign >= 0) return;
    const detail = "SizeLimit field must be a valid resource quantity";
    problems.forbidden(path.child("sizeLimit"), detail);
  },
  hostPath: checkHostPath,
  gitRepo: checkGitRepo,
  gcePersistentDisk: ({ pdName, partition }, path, problems) => {
    requireFields({ pdName }, path, problems);
    checkPartition(partition, path, problems);
  },
  awsElasticBlockStore: ({ volumeID, partition }, path, problems) => {
    requireFields({ volumeID }, path, problems);
    checkPartition(partition, path, problems);
  },
  secret: (source, path, problems) => {
    requireFields({ secretName: source.secretName }, path, problems);
    checkFiles(source, path, problems);
  },
  nfs: checkNfs,
  iscsi: checkIscsi,
  glusterfs: ({ endpoints, path: volume }, path, problems) =>
    requireFields({ endpoints, path: volume }, path, problems),
  flocker: checkFlocker,
  persistentVolumeClaim: ({ claimName }, path, problems) =>
    requireFields({ claimName }, path, problems),
  rbd: ({ monitors, image }, path, problems) => requireFields({ monitors, image }, path, problems),
  cinder: ({ volumeID, secretRef }, path, problems) => {
    requireFields({ volumeID }, path, problems);
    checkSecretName(secretRef, path, problems);
  },
  cephfs: ({ monitors }, path, problems) => requireFields({ monitors }, path, problems),
  quobyte: checkQuobyte,
  downwardAPI: ({ defaultMode, items }, path, problems) => {
    checkMode(defaultMode, path.child("defaultMode"), problems);
    checkDownwardFiles(items, path, problems);
  },
  fc: checkFc,
  flexVolume: checkFlex,
  configMap: (source, path, problems) => {
    requireFields({ name: source.name }, path, problems);
    checkFiles(source, path, problems);
  },
  azureFile: ({ secretName, shareName }, path, problems) =>
    requireFields({ secretName, shareName }, path, problems),
  vsphereVolume: ({ volumePath }, path, problems) => requireFields({ volumePath }, path, problems),
  photonPersistentDisk: ({ pdID }, path, problems) => requireFields({ pdID }, path, problems),
  portworxVolume: ({ volumeID }, path, problems) => requireFields({ volumeID }, path, problems),
  azureDisk: checkAzureDisk,
  storageos: checkStorageOs,
};

const lastChecks: Checks<LastSource> = {
  scaleIO: ({ gateway, system, volumeName }, path, problems) =>
    requireFields({ gateway, system, volumeName }, path, problems),
  csi: ({ driver, nodePublishSecretRef: secret }, path, problems) => {
    checkDriverName(driver, path.child("driver"), problems);
    if (secret === undefined) return;
    const { name } = secret;
    if (!name) return requireFields({ name }, path.child("nodePublishSecretRef"), problems);
    // The path omits the reference, as in Kubernetes.
    const messages = isDns1123Subdomain(name);
    invalidEach(problems, path.child("name"), { value: name, messages });
  },
  ephemeral: ({ volumeClaimTemplate: template }, path, problems) => {
    const volumeClaimTemplatePath = path.child("volumeClaimTemplate");
    if (template === undefined) return problems.required(volumeClaimTemplatePath);
    checkTemplateMeta(template.metadata, volumeClaimTemplatePath.child("metadata"), problems);
    checkClaimSpec(template.spec, volumeClaimTemplatePath.child("spec"), problems);
  },
  image: (source, path, problems) => {
    requireFields({ reference: source.reference }, path, problems);
    checkPullPolicy(source.pullPolicy, path.child("pullPolicy"), problems);
  },
};

/** Validation by source, in the order in which Kubernetes detects more than one. */
function checksFor(domain: Domain): Checks<SourceName> {
  return {
    ...firstChecks,
    projected: (source, path, problems) => checkProjected(source, path, { domain, problems }),
    ...lastChecks,
  };
}

function checkFiles(
  { defaultMode, items }: Source["secret"] | Source["configMap"],
  path: Path,
  problems: Problems,
): void {
  checkMode(defaultMode, path.child("defaultMode"), problems);
  checkItems(items, path, problems);
}

/** Source -> field name in causes, where they differ. */
const otherNames: Readonly<Record<string, string>> = { gcePersistentDisk: "persistentDisk" };

/** Validates metadata of a claim template, which may contain labels and annotations only. */
function checkTemplateMeta(
  { labels, annotations, ...rest }: Infer<typeof objectMeta>,
  path: Path,
  problems: Problems,
): void {
  checkLabels(labels ?? {}, path.child("labels"), problems);
  checkAnnotations(annotations ?? {}, path.child("annotations"), problems);
  for (const [field, value] of Object.entries(rest)) {
    // As with Go's zero value, an empty list counts as set.
    if (value) problems.forbidden(path.child(field), "cannot be set");
  }
}

/** Requires exactly one valid source. */
function checkSource(
  volume: Volume,
  path: Path,
  { checks, problems }: { readonly checks: Checks<SourceName>; readonly problems: Problems },
): void {
  let found = 0;
  const visit = <N extends SourceName>(name: N) => {
    const source = volume[name] as Source[N] | undefined;
    if (source === undefined) return;
    const fieldPath = path.child(otherNames[name as string] ?? name);
    if (found > 0) problems.forbidden(fieldPath, "may not specify more than 1 volume type");
    else checks[name](source, fieldPath, problems);
    found++;
  };
  for (const name of Object.keys(checks)) visit(name as SourceName);
  if (found === 0) problems.required(path, "must specify a volume type");
  const { name, iscsi } = volume;
  if (iscsi?.initiatorName === undefined) return;
  if (isLongTarget(name, iscsi.targetPortal))
    problems.invalid(path.child("name"), name, targetTooLongMessage);
}

/** Validates the generated claim name of an ephemeral volume: pod name plus volume name. */
function checkClaimName(
  { name, ephemeral }: Volume,
  podName: string,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (ephemeral === undefined || podName === "") return;
  const claim = `${podName}-${name}`;
  for (const message of isDns1123Subdomain(claim)) {
    problems.invalid(path.child("name"), name, `PVC name ${JSON.stringify(claim)}: ${message}`);
  }
}

/** Valid volumes by name; mounts may only refer to these. */
export type Volumes = ReadonlyMap<string, Volume>;

interface VolumeOptions {
  /** Name of the pod; "" if unknown, as in templates. */
  readonly podName: string;
  readonly domain: Domain;
  readonly problems: Problems;
}

export function checkVolumes(
  volumes: readonly Volume[],
  path: Path,
  { podName, domain, problems }: VolumeOptions,
): Volumes {
  const checks = checksFor(domain);
  const sound = new Map<string, Volume>();
  const generatedClaims = new Set(
    volumes
      .filter(({ ephemeral }) => ephemeral !== undefined && podName !== "")
      .map(({ name }) => `${podName}-${name}`),
  );
  for (const [index, volume] of volumes.entries()) {
    const itemPath = path.index(index);
    const before = problems.list.length;
    const { name, persistentVolumeClaim: claim } = volume;
    checkSource(volume, itemPath, { checks, problems });
    checkClaimName(volume, podName, { path: itemPath, problems });
    if (name === "") problems.required(itemPath.child("name"));
    else
      invalidEach(problems, itemPath.child("name"), {
        value: name,
        messages: isDns1123Label(name),
      });
    if (sound.has(name)) problems.duplicate(itemPath.child("name"), name);
    if (problems.list.length === before) sound.set(name, volume);
    if (claim === undefined || !generatedClaims.has(claim.claimName)) continue;
    const claimNamePath = itemPath.child("persistentVolumeClaim", "claimName");
    const detail = "must not reference a PVC that gets created for an ephemeral volume";
    problems.invalid(claimNamePath, claim.claimName, detail);
  }
  return sound;
}
