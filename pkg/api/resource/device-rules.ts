/** Validation shared by ResourceClaims, DeviceClasses and ResourceSlices. */
import { printJson } from "#base";
import type { Path, Problems } from "#schema";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isIdentifier,
  isLabelValue,
  isQualifiedName,
} from "#meta";
import { invalidEach, duplicateIndexes, unsupported } from "../strategy.ts";
import { selectorFault } from "./device-expressions.ts";
import type {
  DeviceConfiguration,
  DeviceSelector,
  DeviceTaint,
  DeviceToleration,
} from "./shared-structs.ts";

const maxDriverLength = 63;
const maxPoolLength = 253;
const maxIdLength = 32;
const maxExpressionLength = 10 * 1024;
const maxSelectors = 32;
const maxConfigurations = 32;

/** Limit on the bytes of opaque parameters and driver data. */
export const maxDataBytes = 10 * 1024;

const effects = ["NoExecute", "NoSchedule"];

export function checkLabel(name: string, path: Path, problems: Problems): void {
  invalidEach(problems, path, { value: name, messages: isDns1123Label(name) });
}

export function checkSubdomain(name: string, path: Path, problems: Problems): void {
  invalidEach(problems, path, { value: name, messages: isDns1123Subdomain(name) });
}

export function checkDriver(driver: string, path: Path, problems: Problems): void {
  if (driver === "") problems.required(path);
  if (driver.length > maxDriverLength) problems.tooLong(path, driver, maxDriverLength);
  const messages = isDns1123Subdomain(driver.toLowerCase());
  invalidEach(problems, path, { value: driver, messages });
}

export function checkPool(pool: string, path: Path, problems: Problems): void {
  if (pool === "") return problems.required(path);
  if (pool.length > maxPoolLength) problems.tooLong(path, pool, maxPoolLength);
  for (const part of pool.split("/")) checkSubdomain(part, path, problems);
}

function checkId(id: string, path: Path, problems: Problems): void {
  if (id.length > maxIdLength) problems.tooLong(path, id, maxIdLength);
  invalidEach(problems, path, { value: id, messages: isIdentifier(id) });
}

/** Validates the name of an attribute or capacity: a C identifier, optionally with domain. */
export function checkContentName(name: string, path: Path, problems: Problems): void {
  const [first = "", second, more] = name.split("/");
  if (second === undefined) return checkId(first, path, problems);
  if (more !== undefined) return;
  if (first === "") problems.invalid(path, "", "the domain must not be empty");
  else checkDriver(first, path, problems);
  if (second === "") problems.invalid(path, "", "the name must not be empty");
  else checkId(second, path, problems);
}

interface Members<T> {
  readonly path: Path;
  readonly problems: Problems;
  readonly check: (member: T, path: Path) => void;
}

/** Checks each element unless there are more than `most`. */
export function checkEach<T>(
  members: readonly T[] | null | undefined,
  most: number,
  { path, problems, check }: Members<T>,
): void {
  const all = members ?? [];
  if (all.length > most) return problems.tooMany(path, all.length, most);
  for (const [index, member] of all.entries()) check(member, path.index(index));
}

/** Like checkEach for elements with unique keys; duplicates are reported at field `field`. */
export function checkSet<T>(
  members: readonly T[] | null | undefined,
  most: number,
  rest: Members<T> & { readonly key: (member: T) => string; readonly field?: string },
): void {
  const { path, problems, key, field } = rest;
  const all = members ?? [];
  checkEach(all, most, rest);
  if (all.length > most) return;
  const seen = new Set<string>();
  for (const [index, member] of all.entries()) {
    const value = key(member);
    const itemPath = path.index(index);
    if (seen.has(value)) problems.duplicate(field ? itemPath.child(field) : itemPath, value);
    seen.add(value);
  }
}

export function checkSelectors(
  selectors: readonly DeviceSelector[] | undefined,
  path: Path,
  problems: Problems,
): void {
  const check = ({ cel }: DeviceSelector, fieldPath: Path) => {
    if (cel === undefined) return problems.required(fieldPath.child("cel"));
    const { expression } = cel;
    const expressionPath = fieldPath.child("cel", "expression");
    if (Buffer.byteLength(expression) > maxExpressionLength) {
      return problems.tooLong(expressionPath, expression, maxExpressionLength);
    }
    const fault = selectorFault(expression);
    if (fault?.kind === "invalid") problems.invalid(expressionPath, expression, fault.detail);
    if (fault?.kind === "forbidden") problems.forbidden(expressionPath, fault.detail);
  };
  checkEach(selectors, maxSelectors, { path, problems, check });
}

/**
 * Validates a configuration.
 * @param path path of the object that contains it
 * @param isStored skips the size limit
 */
function checkConfiguration(
  { opaque }: DeviceConfiguration,
  path: Path,
  { problems, isStored }: { readonly problems: Problems; readonly isStored: boolean },
): void {
  const opaquePath = path.child("opaque");
  if (opaque === undefined) return problems.required(opaquePath);
  checkDriver(opaque.driver, opaquePath.child("driver"), problems);
  const longest = isStored ? Infinity : maxDataBytes;
  checkData(opaque.parameters, opaquePath.child("parameters"), { problems, longest });
}

/** Validates configurations of a class or claim; `check` validates further fields of each. */
export function checkConfigurations<T extends DeviceConfiguration>(
  configurations: readonly T[] | undefined,
  path: Path,
  options: {
    readonly problems: Problems;
    readonly isStored: boolean;
    readonly most?: number;
    readonly check?: (member: T, path: Path) => void;
  },
): void {
  checkEach(configurations, options.most ?? maxConfigurations, {
    path,
    problems: options.problems,
    check: (each, itemPath) => {
      options.check?.(each, itemPath);
      checkConfiguration(each, itemPath, options);
    },
  });
}

/** Requires a JSON object of limited size. */
export function checkData(
  data: unknown,
  path: Path,
  { problems, longest }: { readonly problems: Problems; readonly longest: number },
): void {
  if (data === undefined || data === null) return problems.required(path);
  if (Buffer.byteLength(printJson(data)) > longest) {
    return problems.tooLong(path, "", longest);
  }
  if (typeof data === "object" && !Array.isArray(data)) return;
  problems.invalid(path, "<value omitted>", "must be a valid JSON object");
}

export function checkTaint(taint: DeviceTaint, path: Path, problems: Problems): void {
  const { key, value = "", effect } = taint;
  invalidEach(problems, path.child("key"), { value: key, messages: isQualifiedName(key) });
  invalidEach(problems, path.child("value"), { value, messages: isLabelValue(value) });
  const effectPath = path.child("effect");
  if (effect === "") problems.required(effectPath);
  else if (!effects.includes(effect)) {
    unsupported(problems, effectPath, { value: effect, supported: effects });
  }
}

export function checkToleration(
  { key = "", operator = "", value = "", effect = "" }: DeviceToleration,
  path: Path,
  problems: Problems,
): void {
  if (key !== "") {
    invalidEach(problems, path.child("key"), { value: key, messages: isQualifiedName(key) });
  }
  if (operator === "Exists") {
    const detail = "must be empty for operator `Exists`";
    if (value !== "") problems.invalid(path.child("value"), value, detail);
  } else if (operator === "Equal") {
    invalidEach(problems, path.child("value"), { value, messages: isLabelValue(value) });
  } else {
    const supported = ["Equal", "Exists"];
    unsupported(problems, path.child("operator"), { value: operator, supported });
  }
  if (effect !== "" && !effects.includes(effect)) {
    unsupported(problems, path.child("effect"), { value: effect, supported: effects });
  }
}

interface Binding {
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

const maxBindingConditions = 4;

/** Validates binding conditions and binding failure conditions. */
export function checkBinding(
  { bindingConditions: good = [], bindingFailureConditions: bad = [] }: Binding,
  path: Path,
  problems: Problems,
): void {
  const goodPath = path.child("bindingConditions");
  const badPath = path.child("bindingFailureConditions");
  const check = (name: string, fieldPath: Path) =>
    invalidEach(problems, fieldPath, { value: name, messages: isQualifiedName(name) });
  checkEach(good, maxBindingConditions, { path: goodPath, problems, check });
  checkEach(bad, maxBindingConditions, { path: badPath, problems, check });
  for (const index of duplicateIndexes(good, (name) => name)) {
    problems.duplicate(goodPath.index(index), good[index]);
  }
  const goodNames = new Set(good);
  const repeated = duplicateIndexes(bad, (name) => name);
  for (const [index, name] of bad.entries()) {
    if (repeated.has(index)) problems.duplicate(badPath.index(index), name);
    const detail = "bindingFailureConditions must not overlap with bindingConditions";
    if (goodNames.has(name)) problems.invalid(badPath.index(index), name, detail);
  }
  if (good.length === 0 && bad.length > 0) {
    const detail = "bindingConditions are required to use bindingFailureConditions";
    problems.invalid(goodPath, good, detail);
  }
  if (bad.length === 0 && good.length > 0) {
    const detail = "bindingFailureConditions are required to use bindingConditions";
    problems.invalid(badPath, bad, detail);
  }
}
