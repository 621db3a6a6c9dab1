/** Validation of resource requirements of containers and pods. */
import { memoize } from "#base";
import type { Infer, Path, Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain, Quantity } from "#meta";
import { entry, invalidEach, sortedKeys } from "../../../strategy.ts";
import type { PodSpec } from "../spec/pod-spec.ts";
import { isPodLevelResource } from "../spec/pod-defaults.ts";
import { containerTotal } from "../../shared/resource-amounts.ts";
import {
  checkContainerResourceName,
  checkResourceQuantity,
  isOvercommitAllowed,
} from "../../shared/resource-names.ts";
import type { resourceRequirements } from "../../shared/resources.ts";

type Requirements = Infer<typeof resourceRequirements>;
type NameCheck = (name: string, path: Path, problems: Problems) => void;

const hugePages = "hugepages-";
const isHugePages = (name: string) => name.startsWith(hugePages);

interface Surroundings {
  /** Names in `spec.resourceClaims`. */
  readonly claims: ReadonlySet<string>;
  readonly problems: Problems;
}

function compare(left: string, right: string): number {
  return Quantity.parse(left).compare(Quantity.parse(right));
}

/** Huge pages must be a multiple of the page size in the name. */
function checkHugePages(name: string, amount: string, target: Target): void {
  if (!isHugePages(name) || isMultiple(amount, name.slice(hugePages.length))) return;
  const detail = `${amount} is not positive integer multiple of ${name}`;
  target.problems.invalid(target.path, amount, detail);
}

interface Target {
  readonly path: Path;
  readonly problems: Problems;
}

function isMultiple(amount: string, size: string): boolean {
  try {
    const page = Quantity.parse(size);
    if (page.sign <= 0 || page.milliValue() % 1000n !== 0n) return false;
    return Quantity.parse(amount).value() % page.value() === 0n;
  } catch {
    return false;
  }
}

export function checkRequirements(
  requirements: Requirements,
  path: Path,
  { claims, problems }: Surroundings,
  checkName: NameCheck = checkContainerResourceName,
): void {
  const names: string[] = [];
  for (const field of ["limits", "requests"] as const) {
    const amounts = requirements[field];
    if (amounts === undefined) continue;
    const fieldPath = path.child(field);
    for (const name of sortedKeys(amounts)) {
      names.push(name);
      const amount = entry(amounts, name) ?? "0";
      const entryPath = fieldPath.key(name);
      checkName(name, entryPath, problems);
      checkResourceQuantity({ name, quantity: amount }, entryPath, problems);
      if (field === "requests") checkRequest(requirements, name, { path, problems });
      checkHugePages(name, amount, { path: entryPath, problems });
    }
  }
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    problems.forbidden(path, "HugePages require cpu or memory");
  }
  checkClaims(requirements.claims, path.child("claims"), { claims, problems });
}

/** Requires request <= limit, or equality if the resource cannot be overcommitted. */
function checkRequest(
  { limits, requests }: Requirements,
  name: string,
  { path, problems }: Target,
): void {
  const request = entry(requests, name) ?? "0";
  const limit = entry(limits, name);
  const requestsPath = path.child("requests");
  if (limit === undefined) {
    if (isOvercommitAllowed(name)) return;
    const detail = "Limit must be set for non overcommitable resources";
    return problems.required(path.child("limits"), detail);
  }
  const order = compare(request, limit);
  if (order !== 0 && !isOvercommitAllowed(name)) {
    problems.invalid(requestsPath, request, `must be equal to ${name} limit of ${limit}`);
  } else if (order > 0) {
    problems.invalid(
      requestsPath,
      request,
      `must be less than or equal to ${name} limit of ${limit}`,
    );
  }
}

const listed = memoize((claims: ReadonlySet<string>): string =>
  claims.size === 0 ? " which is empty" : `: ${[...claims].sort().join(", ")}`,
);

function checkClaims(
  uses: Requirements["claims"],
  path: Path,
  { claims, problems }: Surroundings,
): void {
  if (uses === undefined) return;
  const seen = new Set<string>();
  for (const [index, { name, request }] of uses.entries()) {
    const itemPath = path.index(index);
    if (name === "") {
      problems.required(itemPath);
      continue;
    }
    checkUse(name, request, { path: itemPath, seen, problems });
    if (claims.has(name)) continue;
    const detail = `must be one of the names in pod.spec.resourceClaims${listed(claims)}`;
    problems.add({ type: "FieldValueNotFound", field: itemPath.toString(), value: name, detail });
  }
}

/** Reports a claim that is listed twice, as a whole or by request. */
function checkUse(
  name: string,
  request: string | undefined,
  use: { readonly path: Path; readonly seen: Set<string>; readonly problems: Problems },
): void {
  const { path: place, seen, problems } = use;
  if (seen.has(name)) return problems.duplicate(place, name);
  const key = request ? `${name}/${request}` : name;
  if (request) {
    const messages = isDns1123Label(request);
    invalidEach(problems, place.child("request"), { value: request, messages });
  }
  if (seen.has(key)) problems.duplicate(place, key);
  else if (!request) {
    for (const each of seen) {
      if (each.startsWith(`${name}/`)) problems.duplicate(place, name);
    }
  }
  seen.add(key);
}

/**
 * Validates resourceClaims of a pod.
 * @param podName "" if unknown, as in templates
 */
export function checkPodClaims(
  claims: PodSpec["resourceClaims"],
  path: Path,
  { podName, problems }: { readonly podName: string; readonly problems: Problems },
): void {
  const names = new Set<string>();
  for (const [index, claim] of (claims ?? []).entries()) {
    const { name, resourceClaimName: podLimit, resourceClaimTemplateName: template } = claim;
    const itemPath = path.index(index);
    const namePath = itemPath.child("name");
    if (name === "") problems.required(namePath);
    else if (names.has(name)) problems.duplicate(namePath, name);
    else {
      const messages = isDns1123Label(name);
      invalidEach(problems, namePath, { value: name, messages });
      const generatedName = `${podName}-${name}`;
      if (messages.length === 0 && podName !== "" && template !== undefined) {
        const faults = isDns1123Subdomain(generatedName).map(
          (each) => `final ResourceClaim name: ${each}`,
        );
        invalidEach(problems, namePath, { value: generatedName, messages: faults });
      }
      names.add(name);
    }
    checkClaimSource(claim, itemPath, problems);
    for (const [field, value] of [
      ["resourceClaimName", podLimit],
      ["resourceClaimTemplateName", template],
    ] as const) {
      if (value === undefined) continue;
      invalidEach(problems, itemPath.child(field), { value, messages: isDns1123Subdomain(value) });
    }
  }
}

function checkClaimSource(
  claim: NonNullable<PodSpec["resourceClaims"]>[number],
  path: Path,
  problems: Problems,
): void {
  const { name, resourceClaimName: own, resourceClaimTemplateName: template } = claim;
  if ((own === undefined) !== (template === undefined)) return;
  // Reported with the field names of Go's struct, as in Kubernetes.
  const goClaim = {
    Name: name,
    ResourceClaimName: own ?? null,
    ResourceClaimTemplateName: template ?? null,
  };
  const detail =
    own === undefined
      ? "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
      : "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
  problems.invalid(path, goClaim, detail);
}

function checkPodResourceName(name: string, path: Path, problems: Problems): void {
  if (isPodLevelResource(name)) return;
  problems.notSupported(path, name, ["cpu", hugePages, "memory"]);
}

/** Validates pod-level resources, which must not be below the sum of the containers' resources. */
export function checkPodResources(
  spec: PodSpec,
  path: Path,
  { claims, problems }: Surroundings,
): void {
  const { resources, os } = spec;
  if (resources === undefined) return;
  if (os?.name === "windows") {
    return problems.forbidden(path, "may not be set for a windows pod");
  }
  if (resources.claims !== undefined && resources.claims.length > 0) {
    const detail = "claims may not be set for Resources at pod-level";
    problems.forbidden(path.child("claims"), detail);
  }
  checkRequirements(resources, path, { claims, problems }, checkPodResourceName);
  const containerRequests = containerTotal(spec, "requests");
  for (const name of sortedKeys(containerRequests).filter(isPodLevelResource)) {
    const [total = "0", own] = [entry(containerRequests, name), entry(resources.requests, name)];
    if (own === undefined || compare(total, own) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${total}`;
    problems.invalid(path.child("requests").key(name), own, detail);
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const name of sortedKeys(container.resources.limits)) {
      const limit = entry(container.resources.limits, name) ?? "0";
      const own = entry(resources.limits, name);
      if (own === undefined || compare(limit, own) <= 0) continue;
      const limitsPath = path.child("containers").index(index).key(name).child("limits");
      problems.invalid(limitsPath, limit, `must be less than or equal to pod limits of ${own}`);
    }
  }
}
