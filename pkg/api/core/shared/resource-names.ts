/** Validation of resource names (cpu, memory, `example.com/gpu`) by context. */
import type { Path, Problems } from "#schema";
import { isQualifiedName, kubernetes, Quantity } from "#meta";
import { invalidEach } from "../../strategy.ts";

const computeNames = ["cpu", "memory", "ephemeral-storage"];

/** Resources with integer quantities. */
const countedNames = [
  "pods",
  "services",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];

const quotaNames: ReadonlySet<string> = new Set([
  ...countedNames,
  ...computeNames.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  "requests.storage",
]);

const hugePages = "hugepages-";

function isHugePages(name: string): boolean {
  return name.startsWith(hugePages);
}

/** Whether the name is a quota resource without domain. */
export function isStandardQuotaName(name: string): boolean {
  return quotaNames.has(name) || isHugePages(name) || name.startsWith(`requests.${hugePages}`);
}

function isStandardName(name: string): boolean {
  return name === "storage" || isStandardQuotaName(name);
}

function isStandardContainerName(name: string): boolean {
  return computeNames.includes(name) || isHugePages(name);
}

/**
 * Whether the name has no domain or Kubernetes' default domain, which nodes report even if the API
 * domain differs.
 */
function isNative(name: string): boolean {
  return !name.includes("/") || name.includes(`${kubernetes.label}/`);
}

/** Whether the name is an extended resource, which has a domain prefix. */
export function isExtendedName(name: string): boolean {
  if (isNative(name) || name.startsWith("requests.")) return false;
  return isQualifiedName(`requests.${name}`).length === 0;
}

/** Whether limits may exceed requests. */
export function isOvercommitAllowed(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** Validates a resource name; returns true if its syntax is valid. */
export function checkResourceName(name: string, path: Path, problems: Problems): boolean {
  const messages = isQualifiedName(name);
  invalidEach(problems, path, { value: name, messages });
  if (messages.length > 0) return false;
  if (name.includes("/") || isStandardName(name)) return true;
  problems.invalid(path, name, "must be a standard resource type or fully qualified");
  return false;
}

export function checkContainerResourceName(name: string, path: Path, problems: Problems): void {
  checkResourceName(name, path, problems);
  if (!name.includes("/")) {
    if (isStandardContainerName(name)) return;
    problems.invalid(path, name, "must be a standard resource for containers");
  } else if (!isNative(name) && !isExtendedName(name)) {
    problems.invalid(path, name, "doesn't follow extended resource name standard");
  }
}

export function checkQuotaResourceName(name: string, path: Path, problems: Problems): void {
  checkResourceName(name, path, problems);
  if (name.includes("/") || isStandardQuotaName(name)) return;
  problems.invalid(path, name, "must be a standard resource for quota");
}

/** Requires a non-negative quantity, and an integer for integer resources. */
export function checkResourceQuantity(
  { name, quantity }: { readonly name: string; readonly quantity: string },
  path: Path,
  problems: Problems,
): void {
  const parsed = Quantity.parse(quantity);
  if (parsed.sign < 0) problems.invalid(path, quantity, "must be greater than or equal to 0");
  if (!countedNames.includes(name) && !isExtendedName(name)) return;
  if (parsed.milliValue() % 1000n !== 0n) problems.invalid(path, quantity, "must be an integer");
}
