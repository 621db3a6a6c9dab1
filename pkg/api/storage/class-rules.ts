/** Shared validation of StorageClass and VolumeAttributesClass. */
import { type Path, type Problems } from "#schema";
import { isQualifiedName } from "#meta";
import { entry, invalidEach, sortedKeys } from "../strategy.ts";

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

export function checkDriverName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  // The reported value is in lower case, as in Kubernetes.
  const value = name.toLowerCase();
  invalidEach(problems, path, { value, messages: isQualifiedName(value) });
}

export function checkParameters(
  parameters: Readonly<Record<string, string>> | undefined,
  path: Path,
  problems: Problems,
): void {
  const keys = sortedKeys(parameters);
  if (keys.length > maxParameters) problems.tooLong(path, "", maxParameters);
  let size = 0;
  for (const key of keys) {
    if (key === "") problems.invalid(path, key, "field can not be empty.");
    size += Buffer.byteLength(key) + Buffer.byteLength(entry(parameters, key) ?? "");
  }
  if (size > maxParameterBytes) problems.tooLong(path, "", maxParameterBytes);
}
