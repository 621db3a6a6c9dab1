import { resourceList } from "./shared/resources.ts";
import { assign } from "#base";
import { required, type Infer, list, named, Path, value, type Problems, structs } from "#schema";
import { isQualifiedName, kind, objectMeta, Quantity } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { entry, invalidEach, sortedKeys } from "../strategy.ts";
import { roundAmounts } from "./shared/resource-amounts.ts";
import {
  checkContainerResourceName,
  checkResourceName,
  isOvercommitAllowed,
} from "./shared/resource-names.ts";

const v1 = structs("api/core/v1");

const limitRangeItem = v1("LimitRangeItem", "Limits for one type of object.", {
  type: required(
    1,
    named("v1.LimitType"),
    "Type of object that the limits apply to: Pod, Container, PersistentVolumeClaim, or a " +
      "domain-prefixed name.",
  ),
  max: value(2, resourceList, "Maximum amount allowed, by resource."),
  min: value(3, resourceList, "Minimum amount allowed, by resource."),
  default: value(
    4,
    resourceList,
    "Limits of containers that specify none, by resource. Defaults to max. Only for type " +
      "Container.",
  ),
  defaultRequest: value(
    5,
    resourceList,
    "Requests of containers that specify none, by resource. Defaults to default, or to min " +
      "without it. Only for type Container.",
  ),
  maxLimitRequestRatio: value(
    6,
    resourceList,
    "Maximum ratio of limit to request, by resource: the burst allowed. Limit and request must " +
      "then both be set and nonzero. At least 1.",
  ),
});

const limitRangeSpec = v1("LimitRangeSpec", "Limits that apply in a namespace.", {
  limits: required(1, list(limitRangeItem), "Limits to enforce, one item per type of object.", {
    listType: "atomic",
  }),
});

const limitRangeV1 = v1(
  "LimitRange",
  "LimitRange sets minimum, maximum and default resources for pods, containers and " +
    "PersistentVolumeClaims of a namespace. Enforced on create and update only.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, limitRangeSpec, "Limits to enforce, by type of object."),
  },
);

type LimitRange = Infer<typeof limitRangeV1>;
type Item = NonNullable<LimitRange["spec"]["limits"]>[number];

function missingFrom(
  target: Readonly<Record<string, string>> | undefined,
  source: Readonly<Record<string, string>> | undefined,
): Record<string, string> | undefined {
  const result: Record<string, string> = { ...target };
  for (const name of sortedKeys(source)) {
    if (entry(target, name) === undefined) assign(result, name, entry(source, name) ?? "0");
  }
  return Object.keys(result).length > 0 ? result : target;
}

/** Defaults for Containers: limit from max, request from limit, request from min. */
function applyDefaults(item: Item): void {
  if (item.type === "Container") fillContainerDefaults(item);
  const { max, min, default: limits, defaultRequest, maxLimitRequestRatio } = item;
  [max, min, limits, defaultRequest, maxLimitRequestRatio].forEach(roundAmounts);
}

function fillContainerDefaults(item: Item): void {
  const limits = missingFrom(item.default, item.max);
  const requests = missingFrom(missingFrom(item.defaultRequest, limits), item.min);
  if (limits !== undefined) item.default = limits;
  if (requests !== undefined) item.defaultRequest = requests;
}

const standardTypes = ["Pod", "Container", "PersistentVolumeClaim"];

function checkType(type: string, path: Path, problems: Problems): void {
  const messages = isQualifiedName(type);
  invalidEach(problems, path, { value: type, messages });
  if (messages.length > 0 || type.includes("/") || standardTypes.includes(type)) return;
  problems.invalid(path, type, "must be a standard limit type or fully qualified");
}

function checkNames(item: Item, path: Path, problems: Problems): void {
  const onContainers = item.type === "Pod" || item.type === "Container";
  const check = onContainers ? checkContainerResourceName : checkResourceName;
  const checkField = (
    field: "max" | "min" | "default" | "defaultRequest" | "maxLimitRequestRatio",
  ) => {
    for (const name of sortedKeys(item[field])) check(name, path.child(field).key(name), problems);
  };
  checkField("max");
  checkField("min");
  for (const field of ["default", "defaultRequest"] as const) {
    if (item.type !== "Pod") checkField(field);
    else if (Object.keys(item[field] ?? {}).length > 0) {
      problems.forbidden(path.child(field), "may not be specified when `type` is 'Pod'");
    }
  }
  if (item.type === "PersistentVolumeClaim") {
    if (entry(item.min, "storage") === undefined && entry(item.max, "storage") === undefined) {
      const detail =
        "either minimum or maximum storage value is required, but neither was provided";
      problems.required(path.child("limits"), detail);
    }
  }
  checkField("maxLimitRequestRatio");
}

function exceeds(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return Quantity.parse(left).compare(Quantity.parse(right)) > 0;
}

/**
 * Validates the order of the amounts of one resource. The reported value does not always belong to
 * the reported field, as in Kubernetes.
 */
function checkOrder(item: Item, name: string, { path, problems }: FieldContext): void {
  const [min, max] = [entry(item.min, name), entry(item.max, name)];
  const isPod = item.type === "Pod";
  const limit = isPod ? undefined : entry(item.default, name);
  const request = isPod ? undefined : entry(item.defaultRequest, name);
  const refuse = (field: string, value: string | undefined, detail: string) =>
    problems.invalid(path.child(field).key(name), value, detail);
  if (exceeds(min, max)) refuse("min", min, `min value ${min} is greater than max value ${max}`);
  if (exceeds(min, request)) {
    refuse(
      "defaultRequest",
      request,
      `min value ${min} is greater than default request value ${request}`,
    );
  }
  if (exceeds(request, max)) {
    refuse(
      "defaultRequest",
      request,
      `default request value ${request} is greater than max value ${max}`,
    );
  }
  if (exceeds(request, limit)) {
    refuse(
      "defaultRequest",
      request,
      `default request value ${request} is greater than default limit value ${limit}`,
    );
  }
  if (exceeds(min, limit)) {
    refuse("default", min, `min value ${min} is greater than default value ${limit}`);
  }
  if (exceeds(limit, max)) {
    refuse("default", max, `default value ${limit} is greater than max value ${max}`);
  }
}

interface FieldContext {
  readonly path: Path;
  readonly problems: Problems;
}

function checkRatio(item: Item, name: string, { path, problems }: FieldContext): void {
  const ratio = entry(item.maxLimitRequestRatio, name);
  if (ratio === undefined) return;
  const entryPath = path.child("maxLimitRequestRatio").key(name);
  if (exceeds("1", ratio)) problems.invalid(entryPath, ratio, `ratio ${ratio} is less than 1`);
  const [min, max] = [entry(item.min, name), entry(item.max, name)];
  if (min === undefined || max === undefined) return;
  const amount = (text: string) => Number(Quantity.parse(text).milliValue());
  const largest = amount(max) / amount(min);
  if (amount(ratio) / 1000 <= largest) return;
  problems.invalid(
    entryPath,
    ratio,
    `ratio ${ratio} is greater than max/min = ${largest.toFixed(6)}`,
  );
}

function checkOvercommit(item: Item, name: string, { path, problems }: FieldContext): void {
  const limit = entry(item.default, name);
  const request = entry(item.defaultRequest, name);
  if (item.type === "Pod" || isOvercommitAllowed(name)) return;
  if (!exceeds(limit, request) && !exceeds(request, limit)) return;
  problems.invalid(
    path.child("defaultRequest").key(name),
    request,
    `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
  );
}

function validate({ spec }: LimitRange, problems: Problems): void {
  const seen = new Set<string>();
  for (const [index, item] of (spec.limits ?? []).entries()) {
    const path = Path.of("spec.limits").index(index);
    checkType(item.type, path.child("type"), problems);
    if (seen.has(item.type)) problems.duplicate(path.child("type"), item.type);
    seen.add(item.type);
    checkNames(item, path, problems);
    const { min, max, default: limits, defaultRequest, maxLimitRequestRatio } = item;
    const names = [min, max, limits, defaultRequest, maxLimitRequestRatio].flatMap(sortedKeys);
    for (const name of [...new Set(names)].sort()) {
      checkOrder(item, name, { path, problems });
      checkRatio(item, name, { path, problems });
      checkOvercommit(item, name, { path, problems });
    }
  }
}

export const limitRange = kind(limitRangeV1, {
  group: "",
  kind: "LimitRange",
  plural: "limitranges",
  shortNames: ["limits"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: limitRangeV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["object"] }, createOnUpdate: true },
  hooks: {
    default: ({ spec }) => spec.limits?.forEach(applyDefaults),
    // kube-apiserver names a LimitRange that has no name and no generateName by a UUID.
    prepareCreate: ({ metadata }) => {
      metadata.name ||= metadata.uid!;
    },
    validate,
  },
  columns: plainColumns,
  row: plainRow,
});
