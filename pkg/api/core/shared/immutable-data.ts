/** Shared rules of ConfigMap and Secret. */
import { deepEqual } from "#base";
import { Path, type Problems } from "#schema";

/** Limit on the total bytes of all values of an object. */
export const maxDataBytes = 1024 * 1024;

/** Decoded length of padded base64. */
export function sizeOfBase64(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

interface HasImmutable {
  readonly immutable?: boolean;
}

/** Rejects changes of `immutable` and the fields `keys` once `immutable` is true. */
export function checkImmutableData<T extends HasImmutable>(
  object: T,
  old: T,
  { keys, problems }: { readonly keys: readonly (keyof T & string)[]; readonly problems: Problems },
): void {
  if (old.immutable !== true) return;
  const detail = "field is immutable when `immutable` is set";
  if (object.immutable !== true) problems.forbidden(Path.of("immutable"), detail);
  for (const key of keys) {
    if (!deepEqual(object[key] ?? {}, old[key] ?? {})) problems.forbidden(Path.of(key), detail);
  }
}
