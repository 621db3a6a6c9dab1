/** Shared validation of PersistentVolumes and PersistentVolumeClaims. */
import type { Path, Problems } from "#schema";
import { isDns1123Subdomain, kubernetes } from "#meta";
import { entry, invalidEach } from "../../strategy.ts";

export const oldClassAnnotation = `volume.beta.${kubernetes.label}/storage-class`;

/** Access modes -> abbreviations in tables, in table order. */
const accessModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

const volumeModes = ["Block", "Filesystem"];

export function checkAccessModes(modes: readonly string[], path: Path, problems: Problems): void {
  const known = modes.filter((mode) => Object.hasOwn(accessModes, mode));
  for (const mode of modes) {
    if (!known.includes(mode)) problems.notSupported(path, mode, Object.keys(accessModes));
  }
  if (!known.includes("ReadWriteOncePod")) return;
  if (known.every((mode) => mode === "ReadWriteOncePod")) return;
  problems.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

/** Table cell of access modes, `RWO,ROX` for example. */
export function formatAccessModes(modes: readonly string[] | undefined): string {
  return Object.entries(accessModes)
    .flatMap(([mode, letters]) => (modes?.includes(mode) ? [letters] : []))
    .join(",");
}

/** Validates a class name unless it is absent or empty. */
export function checkClassName(name: string | undefined, path: Path, problems: Problems): void {
  if (name) invalidEach(problems, path, { value: name, messages: isDns1123Subdomain(name) });
}

export function checkVolumeMode(mode: string | undefined, path: Path, problems: Problems): void {
  if (mode === undefined || volumeModes.includes(mode)) return;
  problems.notSupported(path, mode, volumeModes);
}

interface HasClass {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly storageClassName?: string };
}

/** Class of a claim or volume; the deprecated annotation takes precedence. */
export function classOf({ metadata, spec }: HasClass): string {
  return entry(metadata.annotations, oldClassAnnotation) ?? spec.storageClassName ?? "";
}
