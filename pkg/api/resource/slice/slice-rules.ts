/** Validation of ResourceSlices. */
import { deepEqual, parseSemver } from "#base";
import { Path, type Problems } from "#schema";
import { checkNodeSelector } from "../../core/pod/spec/node-selector-rules.ts";
import { firstByName, mustNotChange, sortedKeys } from "../../strategy.ts";
import { checkCapacityPolicy } from "../capacity-rules.ts";
import {
  checkBinding,
  checkContentName,
  checkDriver,
  checkEach,
  checkLabel,
  checkPool,
  checkSet,
  checkSubdomain,
  checkTaint,
} from "../device-rules.ts";
import type { DeviceAttribute } from "../shared-structs.ts";
import type { Device, SliceSpec } from "./slice-structs.ts";

const maxDevices = 128;
const maxDevicesWithTaints = 64;
const maxTaints = 4;
const maxContents = 32;
const maxSharedCounters = 32;
const maxDeviceCounters = 2048;
const maxAttributeLength = 64;

type Selector = NonNullable<SliceSpec["nodeSelector"]>;
type Counters = NonNullable<SliceSpec["sharedCounters"]>[number]["counters"];
type Consumption = NonNullable<Device["consumesCounters"]>[number];

const path = Path.of("spec");

export function checkSliceSpec(
  spec: SliceSpec,
  old: SliceSpec | undefined,
  problems: Problems,
): void {
  const { driver, pool, nodeName, devices } = spec;
  checkDriver(driver, path.child("driver"), problems);
  checkPoolNumbers(pool, problems);
  if (old !== undefined) {
    const before = old.pool.name;
    mustNotChange(problems, path.child("pool", "name"), { now: pool.name, before });
    mustNotChange(problems, path.child("driver"), { now: driver, before: old.driver });
    mustNotChange(problems, path.child("nodeName"), { now: nodeName, before: old.nodeName });
  }
  checkPlace(spec, problems);
  const all = devices ?? [];
  const hasTaints = all.some(({ taints = [] }) => taints.length > 0);
  const counterSets = countersByName(spec);
  const earlier = firstByName(old?.devices);
  checkSet(all, hasTaints ? maxDevicesWithTaints : maxDevices, {
    path: path.child("devices"),
    problems,
    check: (device, itemPath) => {
      const before = earlier.get(device.name);
      const selectsNodes = spec.perDeviceNodeSelection === true;
      checkDevice(device, itemPath, { before, isPlaced: selectsNodes, counterSets, problems });
    },
    key: ({ name }) => name,
    field: "name",
  });
  checkNumbersOfCounters(spec, problems);
  checkSet(spec.sharedCounters, Infinity, {
    path: path.child("sharedCounters"),
    problems,
    check: ({ name, counters }, itemPath) => {
      checkCounters({ name, field: "name", counters }, itemPath, problems);
    },
    key: ({ name }) => name,
    field: "name",
  });
}

function checkPoolNumbers(pool: SliceSpec["pool"], problems: Problems): void {
  const { name, resourceSliceCount, generation } = pool;
  const poolPath = path.child("pool");
  checkPool(name, poolPath.child("name"), problems);
  if (resourceSliceCount <= 0) {
    const detail = "must be greater than zero";
    problems.invalid(poolPath.child("resourceSliceCount"), resourceSliceCount, detail);
  }
  if (generation < 0) {
    const detail = "must be greater than or equal to zero";
    problems.invalid(poolPath.child("generation"), generation, detail);
  }
}

function checkPlace(spec: SliceSpec, problems: Problems): void {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  const chosen: string[] = [];
  const namePath = path.child("nodeName");
  if (nodeName === "") {
    problems.invalid(namePath, nodeName, "must be either unset or set to a non-empty string");
  } else if (nodeName !== undefined) {
    chosen.push("`nodeName`");
    checkSubdomain(nodeName, namePath, problems);
  }
  if (nodeSelector !== undefined) {
    chosen.push("`nodeSelector`");
    checkNodeSelector(nodeSelector, path.child("nodeSelector"), { problems });
    checkSingleTerm(nodeSelector, problems);
  }
  for (const [field, choice] of Object.entries({ allNodes, perDeviceNodeSelection })) {
    if (choice === true) chosen.push(`\`${field}\``);
    else if (choice === false) {
      problems.invalid(path.child(field), choice, "must be either unset or set to true");
    }
  }
  const detail =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (chosen.length === 0) problems.required(path, detail);
  if (chosen.length < 2) return;
  const shown = `{${chosen.join(", ")}}`;
  problems.invalid(path, shown, `${detail}, but multiple fields are set`);
}

function checkSingleTerm({ nodeSelectorTerms }: Selector, problems: Problems): void {
  const terms = nodeSelectorTerms ?? [];
  if (terms.length === 1) return;
  const nodeSelectorTermsPath = path.child("nodeSelector", "nodeSelectorTerms");
  const shown = nodeSelectorTerms?.map(goTerm) ?? null;
  problems.invalid(nodeSelectorTermsPath, shown, "must have exactly one node selector term");
}

type Term = NonNullable<Selector["nodeSelectorTerms"]>[number];

/** A selector term with Go's field names, as Kubernetes prints it. */
const goTerm = ({ matchExpressions, matchFields }: Term) => ({
  MatchExpressions: matchExpressions?.map(shownRequirement) ?? null,
  MatchFields: matchFields?.map(shownRequirement) ?? null,
});

const shownRequirement = (requirement: NonNullable<Term["matchFields"]>[number]) => ({
  Key: requirement.key,
  Operator: requirement.operator,
  Values: requirement.values ?? null,
});

const numberOf = (counters: Counters) => Object.keys(counters ?? {}).length;

function checkNumbersOfCounters({ devices, sharedCounters }: SliceSpec, problems: Problems): void {
  const consumed = (devices ?? []).flatMap(({ consumesCounters = [] }) => consumesCounters);
  const sum = (sets: readonly { counters?: Counters }[]) =>
    sets.reduce((total, { counters }) => total + numberOf(counters), 0);
  const used = sum(consumed);
  if (used > maxDeviceCounters) {
    const subject = "the total number of counters in devices";
    const detail = `${subject} must not exceed ${maxDeviceCounters}`;
    problems.invalid(path.child("devices"), used, detail);
  }
  const shared = sum(sharedCounters ?? []);
  if (shared > maxSharedCounters) {
    const detail = `the total number of shared counters must not exceed ${maxSharedCounters}`;
    problems.invalid(path.child("sharedCounters"), shared, detail);
  }
}

function checkCounters(
  { name, field, counters }: { name: string; field: string; counters?: Counters },
  path: Path,
  problems: Problems,
): void {
  if (name === "") problems.required(path.child(field));
  else checkLabel(name, path.child(field), problems);
  const countersPath = path.child("counters");
  for (const key of sortedKeys(counters)) checkLabel(key, countersPath.key(key), problems);
}

type CounterSets = ReadonlyMap<string, ReadonlySet<string>>;

function countersByName({ sharedCounters = [] }: SliceSpec): CounterSets {
  return new Map(
    sharedCounters.map(({ name, counters }) => [name, new Set(Object.keys(counters ?? {}))]),
  );
}

interface DeviceOptions {
  readonly before: Device | undefined;
  /** Whether the device must select its nodes itself. */
  readonly isPlaced: boolean;
  readonly counterSets: CounterSets;
  readonly problems: Problems;
}

function checkDevice(device: Device, fieldPath: Path, options: DeviceOptions): void {
  const { before, isPlaced, counterSets, problems } = options;
  const { attributes, capacity, taints } = device;
  checkLabel(device.name, fieldPath.child("name"), problems);
  const count = Object.keys(attributes ?? {}).length + Object.keys(capacity ?? {}).length;
  if (count > maxContents) {
    const detail = `the total number of attributes and capacities must not exceed ${maxContents}`;
    problems.invalid(fieldPath, count, detail);
  }
  for (const name of sortedKeys(attributes)) {
    const each = fieldPath.child("attributes").key(name);
    checkContentName(name, each, problems);
    checkAttribute(attributes?.[name] ?? {}, each, problems);
  }
  if (!deepEqual(capacity, before?.capacity)) checkCapacity(device, fieldPath, problems);
  if (!deepEqual(taints, before?.taints)) {
    const check = (taint: NonNullable<typeof taints>[number], each: Path) =>
      checkTaint(taint, each, problems);
    checkEach(taints, maxTaints, { path: fieldPath.child("taints"), problems, check });
  }
  checkSet(device.consumesCounters, Infinity, {
    path: fieldPath.child("consumesCounters"),
    problems,
    check: (consumption, each) => checkConsumption(consumption, each, { counterSets, problems }),
    key: ({ counterSet }) => counterSet,
    field: "counterSet",
  });
  checkDevicePlace(device, fieldPath, { isPlaced, problems });
  checkBinding(device, fieldPath, problems);
}

function checkAttribute(attribute: DeviceAttribute, path: Path, problems: Problems): void {
  const { int, bool, string, version } = attribute;
  for (const [field, text] of Object.entries({ string, version })) {
    if (text === undefined) continue;
    if (field === "version" && parseSemver(text) === undefined) {
      const detail = "must be a string compatible with semver.org spec 2.0.0";
      problems.invalid(path.child(field), text, detail);
    }
    if (Buffer.byteLength(text) <= maxAttributeLength) continue;
    problems.tooLong(path.child(field), text, maxAttributeLength);
  }
  const count = [int, bool, string, version].filter((value) => value !== undefined).length;
  const detail = "exactly one value must be specified";
  if (count === 0) problems.required(path, detail);
  if (count < 2) return;
  // Reported with the field names of Go's struct, as in Kubernetes.
  const shown = {
    IntValue: int ?? null,
    BoolValue: bool ?? null,
    StringValue: string ?? null,
    VersionValue: version ?? null,
  };
  problems.invalid(path, shown, detail);
}

function checkCapacity(device: Device, path: Path, problems: Problems): void {
  const { capacity = {}, allowMultipleAllocations: isShared = false } = device;
  for (const name of sortedKeys(capacity)) {
    const each = path.child("capacity").key(name);
    checkContentName(name, each, problems);
    const amount = capacity[name];
    if (amount !== undefined) checkCapacityPolicy(amount, each, { isShared, problems });
  }
}

function checkConsumption(
  { counterSet, counters }: Consumption,
  path: Path,
  { counterSets, problems }: Pick<DeviceOptions, "counterSets" | "problems">,
): void {
  checkCounters({ name: counterSet, field: "counterSet", counters }, path, problems);
  const names = counterSets.get(counterSet);
  const source = "defined in the ResourceSlice sharedCounters";
  if (names === undefined) {
    return problems.invalid(path, counterSet, `must reference a counterSet ${source}`);
  }
  for (const name of sortedKeys(counters)) {
    if (names.has(name)) continue;
    problems.invalid(path.child("counters"), name, `must reference a counter ${source}`);
  }
}

function checkDevicePlace(
  { nodeName, nodeSelector, allNodes }: Device,
  path: Path,
  { isPlaced, problems }: Pick<DeviceOptions, "isPlaced" | "problems">,
): void {
  if (!isPlaced) {
    if ([nodeName, nodeSelector, allNodes].every((value) => value === undefined)) return;
    const detail =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` " +
      "is set to true in the ResourceSlice spec";
    return problems.invalid(path, null, detail);
  }
  const chosen: string[] = [];
  if (nodeName === "") {
    problems.invalid(path.child("nodeName"), nodeName, "must not be empty");
  } else if (nodeName !== undefined) {
    chosen.push("`nodeName`");
    checkSubdomain(nodeName, path.child("nodeName"), problems);
  }
  if (nodeSelector !== undefined) {
    chosen.push("`nodeSelector`");
    checkNodeSelector(nodeSelector, path.child("nodeSelector"), { problems });
  }
  if (allNodes === true) chosen.push("`allNodes`");
  else if (allNodes === false) {
    problems.invalid(path.child("allNodes"), allNodes, "must be either unset or set to true");
  }
  const detail =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when " +
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (chosen.length === 0) problems.required(path, detail);
  if (chosen.length > 1) problems.invalid(path, `{${chosen.join(", ")}}`, detail);
}
