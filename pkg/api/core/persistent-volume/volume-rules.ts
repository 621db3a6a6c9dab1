/** What claims and volumes have in common. */
import type { Path, Problems } from "#schema";
import { isDns1123Subdomain, kubernetes } from "#meta";
import { entry, invalidEach } from "../../strategy.ts";

export const oldClassAnnotation = `volume.beta.${kubernetes.label}/storage-class`;

/** Modes with the letters that tables show, in the order of the tables. */
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

/** `RWO,ROX`. */
export function formatAccessModes(modes: readonly string[] | undefined): string {
  return Object.entries(accessModes)
    .flatMap(([mode, letters]) => (modes?.includes(mode) ? [letters] : []))
    .join(",");
}

/** Absent and empty names are fine. */
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

/** The class of a claim or volume; the annotation that came before the field still wins. */
export function classOf({ metadata, spec }: HasClass): string {
  return entry(metadata.annotations, oldClassAnnotation) ?? spec.storageClassName ?? "";
}
