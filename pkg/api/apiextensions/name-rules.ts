/** Shared checks of names in CustomResourceDefinitions. */
import { isDns1035Label } from "#meta";
import type { Path, Problems } from "#schema";

export function checkEnumerated(
  value: string,
  path: Path,
  { supported, problems }: { readonly supported: readonly string[]; readonly problems: Problems },
): void {
  if (value === "") problems.required(path);
  else if (!supported.includes(value)) problems.notSupportedText(path, value, supported);
}

export function checkLabel(name: string, path: Path, problems: Problems): void {
  const messages = isDns1035Label(name);
  if (messages.length > 0) problems.invalid(path, name, messages.join(","));
}
