/** Validation of ResourceClaim specs. */
import type { Path, Problems } from "#schema";
import { unsupported } from "../../strategy.ts";
import type { ClaimSpec, DeviceRequest } from "./claim-structs.ts";
import {
  checkConfigurations,
  checkContentName,
  checkEach,
  checkLabel,
  checkSelectors,
  checkSet,
  checkSubdomain,
  checkToleration,
} from "../device-rules.ts";

const maxRequests = 32;
const maxConstraints = 32;
const maxSubrequests = 8;

type ExactRequest = NonNullable<DeviceRequest["exactly"]>;
type Devices = ClaimSpec["devices"];
type Constraint = NonNullable<Devices["constraints"]>[number];

/** Names that constraints and configurations may refer to: `request` and `request/sub-request`. */
export function requestNames({ requests }: Devices): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { name, firstAvailable = [] } of requests ?? []) {
    names.add(name);
    for (const subrequest of firstAvailable) names.add(`${name}/${subrequest.name}`);
  }
  return names;
}

export function checkReference(
  reference: string,
  path: Path,
  { names, problems }: { readonly names: ReadonlySet<string>; readonly problems: Problems },
): void {
  const detail =
    "must be the name of a request in the claim " +
    "or the name of a request and a subrequest separated by '/'";
  const segments = reference.split("/");
  if (segments.length > 2) return problems.invalid(path, reference, detail);
  for (const segment of segments) checkLabel(segment, path, problems);
  if (!names.has(reference)) problems.invalid(path, reference, detail);
}

export function checkReferences(
  references: readonly string[] | undefined,
  path: Path,
  options: { readonly names: ReadonlySet<string>; readonly problems: Problems },
): void {
  checkSet(references, maxRequests, {
    path,
    problems: options.problems,
    check: (reference, itemPath) => checkReference(reference, itemPath, options),
    key: (reference) => reference,
  });
}

/**
 * Validates a claim spec.
 * @param isStored skips the size limit of configurations, which older servers did not enforce
 */
export function checkClaimSpec(
  { devices }: ClaimSpec,
  path: Path,
  { problems, isStored }: { readonly problems: Problems; readonly isStored: boolean },
): void {
  const devicesPath = path.child("devices");
  const names = requestNames(devices);
  checkSet(devices.requests, maxRequests, {
    path: devicesPath.child("requests"),
    problems,
    check: (request, each) => checkRequest(request, each, problems),
    key: ({ name }) => name,
    field: "name",
  });
  checkEach(devices.constraints, maxConstraints, {
    path: devicesPath.child("constraints"),
    problems,
    check: (constraint, each) => checkConstraint(constraint, each, { names, problems }),
  });
  checkConfigurations(devices.config, devicesPath.child("config"), {
    problems,
    isStored,
    check: ({ requests }, each) =>
      checkReferences(requests, each.child("requests"), { names, problems }),
  });
}

function checkRequest(request: DeviceRequest, path: Path, problems: Problems): void {
  checkLabel(request.name, path.child("name"), problems);
  const { exactly, firstAvailable = [] } = request;
  const detail = "exactly one of `exactly` or `firstAvailable` is required";
  if (firstAvailable.length > 0) {
    checkSet(firstAvailable, maxSubrequests, {
      path: path.child("firstAvailable"),
      problems,
      check: (subrequest, itemPath) => {
        checkLabel(subrequest.name, itemPath.child("name"), problems);
        checkDeviceRequest(subrequest, itemPath, problems);
      },
      key: ({ name }) => name,
      field: "name",
    });
  }
  if (exactly !== undefined) checkDeviceRequest(exactly, path.child("exactly"), problems);
  if (exactly !== undefined && firstAvailable.length > 0) {
    problems.invalid(path, null, `${detail}, but multiple fields are set`);
  } else if (exactly === undefined && firstAvailable.length === 0) {
    problems.required(path, detail);
  }
}

function checkDeviceRequest(
  deviceRequest: Omit<ExactRequest, "adminAccess">,
  path: Path,
  problems: Problems,
): void {
  const { deviceClassName, selectors, tolerations } = deviceRequest;
  const classPath = path.child("deviceClassName");
  if (deviceClassName === "") problems.required(classPath);
  else checkSubdomain(deviceClassName, classPath, problems);
  checkSelectors(selectors, path.child("selectors"), problems);
  checkMode(deviceRequest, path, problems);
  for (const [index, toleration] of (tolerations ?? []).entries()) {
    checkToleration(toleration, path.child("tolerations").index(index), problems);
  }
}

function checkMode(
  { allocationMode: mode = "", count = 0 }: Pick<ExactRequest, "allocationMode" | "count">,
  path: Path,
  problems: Problems,
): void {
  const countPath = path.child("count");
  if (mode === "All") {
    const detail = "must not be specified when allocationMode is 'All'";
    if (BigInt(count) !== 0n) problems.invalid(countPath, count, detail);
  } else if (mode === "ExactCount") {
    if (count <= 0) problems.invalid(countPath, count, "must be greater than zero");
  } else {
    const supported = ["All", "ExactCount"];
    unsupported(problems, path.child("allocationMode"), { value: mode, supported });
  }
}

function checkConstraint(
  { requests, matchAttribute, distinctAttribute }: Constraint,
  path: Path,
  options: { readonly names: ReadonlySet<string>; readonly problems: Problems },
): void {
  checkReferences(requests, path.child("requests"), options);
  const { problems } = options;
  if (matchAttribute !== undefined) {
    checkFullName(matchAttribute, path.child("matchAttribute"), problems);
  } else if (distinctAttribute !== undefined) {
    checkFullName(distinctAttribute, path.child("distinctAttribute"), problems);
  } else problems.required(path.child("matchAttribute"));
}

function checkFullName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path, "name required");
  checkContentName(name, path, problems);
  if (!name.includes("/")) problems.invalid(path, name, "must include a domain");
}
