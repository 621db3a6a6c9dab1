/** Validation of environment variables. */
import type { Path, Problems } from "#schema";
import { isConfigMapKey, isDns1123Subdomain, isRelaxedEnvVarName } from "#meta";
import { invalidEach } from "../../../strategy.ts";
import type { Container } from "./containers.ts";
import type { EnvVar } from "./environment.ts";
import {
  checkFieldReference,
  checkResourceReference,
  variableFields,
} from "./field-reference-rules.ts";
import { checkDescendingPath } from "../../shared/path-rules.ts";

type EnvFrom = NonNullable<Container["envFrom"]>[number];
type Source = NonNullable<EnvVar["valueFrom"]>;

export function checkVariables(
  variables: readonly EnvVar[] | undefined,
  path: Path,
  problems: Problems,
): void {
  for (const [index, { name, value, valueFrom }] of (variables ?? []).entries()) {
    const itemPath = path.index(index);
    if (name === "") problems.required(itemPath.child("name"));
    else checkVariableName(name, itemPath.child("name"), problems);
    if (valueFrom !== undefined) {
      checkSource(valueFrom, itemPath.child("valueFrom"), { hasValue: Boolean(value), problems });
    }
  }
}

function checkVariableName(value: string, path: Path, problems: Problems): void {
  invalidEach(problems, path, { value, messages: isRelaxedEnvVarName(value) });
}

function checkSource(
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef }: Source,
  path: Path,
  { hasValue, problems }: { readonly hasValue: boolean; readonly problems: Problems },
): void {
  if (fieldRef !== undefined) {
    checkFieldReference(fieldRef, path.child("fieldRef"), { fields: variableFields, problems });
  }
  if (resourceFieldRef !== undefined) {
    const resourceFieldRefPath = path.child("resourceFieldRef");
    checkResourceReference(resourceFieldRef, resourceFieldRefPath, { inVolume: false, problems });
  }
  if (configMapKeyRef) checkKey(configMapKeyRef, path.child("configMapKeyRef"), problems);
  if (secretKeyRef) checkKey(secretKeyRef, path.child("secretKeyRef"), problems);
  if (fileKeyRef) checkFileKey(fileKeyRef, path.child("fileKeyRef"), problems);
  const count =
    Number(fieldRef !== undefined) +
    Number(resourceFieldRef !== undefined) +
    Number(configMapKeyRef !== undefined) +
    Number(secretKeyRef !== undefined) +
    Number(fileKeyRef !== undefined);
  if (count === 0) {
    const names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
    problems.invalid(path, "", `must specify one of: ${names}`);
  } else if (hasValue) {
    problems.invalid(path, "", "may not be specified when `value` is not empty");
  } else if (count > 1) {
    problems.invalid(path, "", "may not have more than one field specified at a time");
  }
}

interface Key {
  readonly name?: string;
  readonly key: string;
}

function checkKey({ name = "", key }: Key, path: Path, problems: Problems): void {
  const messages = isDns1123Subdomain(name);
  invalidEach(problems, path.child("name"), { value: name, messages });
  if (key === "") problems.required(path.child("key"));
  else invalidEach(problems, path.child("key"), { value: key, messages: isConfigMapKey(key) });
}

function checkFileKey(
  { volumeName, path: file, key }: NonNullable<Source["fileKeyRef"]>,
  path: Path,
  problems: Problems,
): void {
  if (key === "") problems.required(path.child("key"));
  else checkVariableName(key, path.child("key"), problems);
  if (volumeName === "") problems.required(path.child("volumeName"));
  if (file === "") problems.required(path.child("path"));
  else checkDescendingPath(file, path.child("path"), problems);
}

/** Requires exactly one source; the problem has the path of the list. */
export function checkVariableSources(
  sources: readonly EnvFrom[] | undefined,
  path: Path,
  problems: Problems,
): void {
  for (const [index, { prefix, configMapRef, secretRef }] of (sources ?? []).entries()) {
    const itemPath = path.index(index);
    if (prefix) checkVariableName(prefix, itemPath.child("prefix"), problems);
    if (configMapRef) checkName(configMapRef.name, itemPath.child("configMapRef"), problems);
    if (secretRef) checkName(secretRef.name, itemPath.child("secretRef"), problems);
    if (!configMapRef && !secretRef) {
      problems.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (configMapRef && secretRef) {
      problems.invalid(path, "", "may not have more than one field specified at a time");
    }
  }
}

function checkName(name: string | undefined, path: Path, problems: Problems): void {
  const namePath = path.child("name");
  if (!name) problems.required(namePath);
  else invalidEach(problems, namePath, { value: name, messages: isDns1123Subdomain(name) });
}
