/** Validation of PersistentVolumeClaims and claim templates. */
import { Path, type Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain, Quantity } from "#meta";
import { checkLabelSelector } from "../../label-selector.ts";
import { invalidEach } from "../../strategy.ts";
import { checkAccessModes, checkClassName, checkVolumeMode } from "./volume-rules.ts";
import type { PersistentVolumeClaimSpec } from "./persistent-volume-claim-spec.ts";

type Reference = NonNullable<PersistentVolumeClaimSpec["dataSourceRef"]>;

export function checkClaimSpec(
  spec: PersistentVolumeClaimSpec,
  path: Path,
  problems: Problems,
): void {
  const modes = spec.accessModes ?? [];
  const modesPath = path.child("accessModes");
  if (modes.length === 0) problems.required(modesPath, "at least 1 access mode is required");
  checkLabelSelector(spec.selector, path.child("selector"), problems);
  checkAccessModes(modes, modesPath, problems);
  checkStorage(spec.resources.requests?.["storage"], path.child("resources"), problems);
  checkClassName(spec.storageClassName, path.child("storageClassName"), problems);
  checkVolumeMode(spec.volumeMode, path.child("volumeMode"), problems);
  checkSources(spec, path, problems);
  const volumeAttributesClassNamePath = path.child("volumeAttributesClassName");
  checkClassName(spec.volumeAttributesClassName, volumeAttributesClassNamePath, problems);
}

function checkStorage(amount: string | undefined, path: Path, problems: Problems): void {
  const entryPath = path.key("storage");
  if (amount === undefined) return problems.required(entryPath);
  if (Quantity.parse(amount).sign <= 0)
    problems.invalid(entryPath, amount, "must be greater than zero");
}

function checkSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  path: Path,
  problems: Problems,
): void {
  if (dataSource !== undefined) checkSource(dataSource, path.child("dataSource"), problems);
  if (dataSourceRef !== undefined) {
    checkSource(dataSourceRef, path.child("dataSourceRef"), problems);
  }
  if (dataSource === undefined || dataSourceRef === undefined) return;
  // The reported value is empty, as in Kubernetes.
  if (dataSourceRef.namespace) {
    problems.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified");
  } else if (
    (dataSource.apiGroup ?? "") !== (dataSourceRef.apiGroup ?? "") ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  ) {
    problems.invalid(path, {}, "must match dataSourceRef");
  }
}

function checkSource(reference: Reference, path: Path, problems: Problems): void {
  const { apiGroup, kind, name, namespace } = reference;
  if (name === "") problems.required(path.child("name"));
  if (kind === "") problems.required(path.child("kind"));
  if (!apiGroup) {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    if (kind !== "PersistentVolumeClaim") problems.invalid(path, kind, detail);
  } else {
    const messages = isDns1123Subdomain(apiGroup);
    invalidEach(problems, path.child("apiGroup"), { value: apiGroup, messages });
  }
  if (!namespace) return;
  invalidEach(problems, path.child("namespace"), {
    value: namespace,
    messages: isDns1123Label(namespace),
  });
}

const requestsAndLimits = ["requests", "limits"] as const;

/** Warnings about fractional bytes, which are rounded up. */
export function claimWarnings(
  { resources }: PersistentVolumeClaimSpec,
  path: Path,
): readonly string[] {
  return requestsAndLimits.flatMap((part) => {
    const amount = resources[part]?.["storage"];
    if (amount === undefined || Quantity.parse(amount).milliValue() % 1000n === 0n) return [];
    const entryPath = path.child("resources", part).key("storage");
    const value = JSON.stringify(amount);
    return [`${entryPath}: fractional byte value ${value} is invalid, must be an integer`];
  });
}
