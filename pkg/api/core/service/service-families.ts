/** Defaulting and validation of clusterIPs, ipFamilies and ipFamilyPolicy. */
import { Path, Problems } from "#schema";
import { deepEqual, ipFamily, parseIp } from "#base";
import { notAnAddressMessage } from "../../networking/ip.ts";
import { isHeadless, headlessIp, type Service } from "./service-types.ts";
import { duplicateIndexes } from "../../strategy.ts";

type Spec = Service["spec"];

const families = ["IPv4", "IPv6"];
const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];

const addressesPath = Path.of("spec.clusterIPs");
const familiesPath = Path.of("spec.ipFamilies");
const policyPath = Path.of("spec.ipFamilyPolicy");

function otherFamily(family: string | undefined): string {
  return family === "IPv4" ? "IPv6" : "IPv4";
}

/** Synchronizes `clusterIP` and `clusterIPs` for clients that set only one of them. */
export function syncClusterIPs({ spec }: Service, old: Service | undefined): void {
  const before = old?.spec;
  const [ip, all] = [spec.clusterIP ?? "", spec.clusterIPs ?? []];
  if (before === undefined) {
    if (ip !== "" && all.length === 0) spec.clusterIPs = [ip];
    return;
  }
  const beforeIp = before.clusterIP ?? "";
  if (all.length === 0 && ip === beforeIp && before.clusterIPs !== undefined) {
    spec.clusterIPs = [...before.clusterIPs];
  }
  if (ip === beforeIp || !deepEqual(spec.clusterIPs ?? [], before.clusterIPs ?? [])) return;
  if (ip === "") delete spec.clusterIPs;
  else spec.clusterIPs = [ip];
}

/** Validates IPs and families independently of the cluster. */
export function checkAddresses(service: Service, old: Service | undefined, problems: Problems) {
  const { spec } = service;
  if (spec.type === "ExternalName") return;
  const found = new Problems();
  checkFirst(spec, found);
  checkFamilies(spec, found);
  const allParse = checkEachAddress(spec, old?.spec.clusterIPs ?? [], found);
  const all = spec.clusterIPs ?? [];
  if (all.length > 2) found.invalid(addressesPath, all, "may only hold up to 2 values");
  if (allParse && all.length > 1 && new Set(all.map(ipFamily)).size < 2) {
    const detail = "may specify no more than one IP for each IP family";
    found.invalid(addressesPath, all, detail);
  }
  if (allParse && found.empty && !isHeadless(service)) checkFit(spec, found);
  found.list.forEach((problem) => problems.add(problem));
}

function checkFirst({ clusterIP = "", clusterIPs = [] }: Spec, problems: Problems): void {
  if (clusterIP === "") {
    if (clusterIPs.length === 0) return;
    const detail = "must be empty when `clusterIP` is not specified";
    problems.invalid(addressesPath, clusterIPs, detail);
  } else if (clusterIPs.length === 0) {
    problems.required(addressesPath);
  } else if (clusterIPs[0] !== clusterIP) {
    problems.invalid(addressesPath, clusterIPs, "first value must match `clusterIP`");
  }
}

function checkFamilies({ ipFamilies = [], ipFamilyPolicy }: Spec, problems: Problems): void {
  const repeated = duplicateIndexes(ipFamilies, (family) => family);
  for (const [index, family] of ipFamilies.entries()) {
    const path = familiesPath.index(index);
    if (!families.includes(family)) problems.notSupported(path, family, families);
    if (repeated.has(index)) problems.duplicate(path, family);
  }
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy)) {
    problems.notSupported(policyPath, ipFamilyPolicy, policies);
  }
}

/** Validates each address; returns false if one is malformed, which precludes further checks. */
function checkEachAddress(
  { clusterIPs = [] }: Spec,
  known: readonly string[],
  problems: Problems,
): boolean {
  let isFine = true;
  for (const [index, ip] of clusterIPs.entries()) {
    if (index === 0 && ip === headlessIp) {
      if (clusterIPs.length === 1) continue;
      problems.invalid(addressesPath, clusterIPs, "'None' must be the first and only value");
    } else if (parseIp(ip) !== undefined || known.includes(ip)) continue;
    else problems.invalid(addressesPath.index(index), ip, notAnAddressMessage);
    isFine = false;
  }
  return isFine;
}

function checkFit({ clusterIPs = [], ipFamilies = [] }: Spec, problems: Problems): void {
  for (const [index, ip] of clusterIPs.entries()) {
    const family = ipFamilies[index];
    if (family === undefined || family === ipFamily(ip)) continue;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    problems.invalid(addressesPath.index(index), ip, detail);
  }
}

interface FamilyContext {
  readonly old: Service | undefined;
  /** IP families of the service CIDRs, primary first. */
  readonly configured: readonly string[];
  readonly problems: Problems;
}

/**
 * Defaults ipFamilyPolicy and ipFamilies from the request and the cluster. Stops at the first kind
 * of problem; further validation is then pointless.
 */
export function defaultFamilies(
  service: Service,
  { old, configured, problems }: FamilyContext,
): void {
  const { spec } = service;
  if (spec.type === "ExternalName" || isUnchangedDualStack(spec, old?.spec)) return;
  spec.ipFamilyPolicy ??= old?.spec.ipFamilyPolicy ?? defaultPolicy(spec);
  checkAddresses(service, old, problems);
  if (!problems.empty) return;
  if (old !== undefined) releaseSecondary(spec, old.spec, problems);
  checkSingle(spec, problems);
  inferFamilies(spec, configured, problems);
  if (!problems.empty) return;
  const isDual = spec.ipFamilyPolicy !== "SingleStack";
  if (isHeadlessWithoutSelector(spec)) {
    // No IP is allocated, so that any family is valid, even one that the cluster lacks.
    if (!spec.ipFamilies?.length) spec.ipFamilies = configured.slice(0, 1);
    if (isDual && spec.ipFamilies.length < 2) {
      spec.ipFamilies = [...spec.ipFamilies, otherFamily(spec.ipFamilies[0])];
    }
    return;
  }
  checkConfigured(spec, configured, problems);
  if (!problems.empty) return;
  if (!spec.ipFamilies?.length) spec.ipFamilies = configured.slice(0, 1);
  if (isDual && spec.ipFamilies.length === 1 && configured.length === 2) {
    spec.ipFamilies = [...spec.ipFamilies, otherFamily(spec.ipFamilies[0])];
  }
}

/**
 * Whether the Service is headless without a selector: its families are independent of the cluster.
 */
function isHeadlessWithoutSelector({ clusterIP, selector }: Spec): boolean {
  return clusterIP === headlessIp && Object.keys(selector ?? {}).length === 0;
}

function defaultPolicy(spec: Spec): string {
  return isHeadlessWithoutSelector(spec) ? "RequireDualStack" : "SingleStack";
}

/**
 * Whether a PreferDualStack Service is unchanged; it then keeps its families if the cluster's
 * change.
 */
function isUnchangedDualStack(spec: Spec, before: Spec | undefined): boolean {
  return (
    before !== undefined &&
    before.type !== "ExternalName" &&
    spec.ipFamilyPolicy === "PreferDualStack" &&
    before.ipFamilyPolicy === "PreferDualStack" &&
    before.clusterIP === spec.clusterIP &&
    deepEqual(spec.clusterIPs ?? [], before.clusterIPs ?? []) &&
    deepEqual(spec.ipFamilies ?? [], before.ipFamilies ?? [])
  );
}

/** Releases the second cluster IP and family on a change to policy SingleStack; rejects it otherwise. */
function releaseSecondary(spec: Spec, before: Spec, problems: Problems): void {
  const fields = [
    { name: "clusterIPs", what: "cluster IP" },
    { name: "ipFamilies", what: "IP family" },
  ] as const;
  for (const { name, what } of fields) {
    const [now = [], was = []] = [spec[name], before[name]];
    if (spec.ipFamilyPolicy === "SingleStack") {
      if (now.length > 1 && deepEqual(now, was)) spec[name] = now.slice(0, 1);
    } else if (now.length === 1 && was.length === 2 && now[0] === was[0]) {
      const detail = `must be 'SingleStack' to release the secondary ${what}`;
      problems.invalid(policyPath, spec.ipFamilyPolicy, detail);
    }
  }
}

function checkSingle({ ipFamilyPolicy, clusterIPs, ipFamilies }: Spec, problems: Problems): void {
  if (ipFamilyPolicy !== "SingleStack") return;
  const detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  if (clusterIPs?.length === 2) {
    problems.invalid(policyPath, ipFamilyPolicy, `${detail} cluster IPs are specified`);
  }
  if (ipFamilies?.length === 2) {
    problems.invalid(policyPath, ipFamilyPolicy, `${detail} IP families are specified`);
  }
}

function inferFamilies(spec: Spec, configured: readonly string[], problems: Problems): void {
  const known = [...(spec.ipFamilies ?? [])];
  for (const [index, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === headlessIp) break;
    if (index < known.length) continue;
    const family = ipFamily(ip);
    if (configured.includes(family)) known.push(family);
    else {
      const detail = `${family} is not configured on this cluster`;
      problems.invalid(addressesPath.index(index), spec.clusterIPs, detail);
    }
  }
  if (known.length > 0) spec.ipFamilies = known;
}

function checkConfigured(
  { ipFamilies = [], ipFamilyPolicy }: Spec,
  configured: readonly string[],
  problems: Problems,
): void {
  if (ipFamilyPolicy === "RequireDualStack" && configured.length < 2) {
    const detail = "this cluster is not configured for dual-stack services";
    problems.invalid(policyPath, ipFamilyPolicy, detail);
  }
  for (const [index, family] of ipFamilies.entries()) {
    if (configured.includes(family)) continue;
    problems.invalid(familiesPath.index(index), family, "not configured on this cluster");
  }
}

/** Rejects changes of the primary IP and family; the secondary ones may be added or released. */
export function checkChange(service: Service, old: Service, problems: Problems): void {
  if (service.spec.type === "ExternalName" || old.spec.type === "ExternalName") return;
  const [isNow, was] = [isHeadless(service), isHeadless(old)];
  if (!isNow || !was) {
    checkListChange(service.spec, old.spec, { field: "clusterIPs", what: "clusterIP", problems });
  }
  if (!isNow && !was) {
    checkListChange(service.spec, old.spec, { field: "ipFamilies", what: "ipFamily", problems });
  }
}

interface ListChange {
  readonly field: "clusterIPs" | "ipFamilies";
  readonly what: string;
  readonly problems: Problems;
}

function checkListChange(spec: Spec, before: Spec, { field, what, problems }: ListChange): void {
  const [now = [], was = []] = [spec[field], before[field]];
  const path = Path.of("spec").child(field);
  const fixed = now.length === was.length ? now.length : 1;
  if (now.length === 0 && was.length > 0) {
    problems.invalid(path.index(0), now, `primary ${what} can not be unset`);
  }
  for (let index = 0; index < Math.min(fixed, now.length, was.length); index++) {
    if (now[index] === was[index]) continue;
    problems.invalid(path.index(index), now, "may not change once set");
  }
  if (now.length !== 1 || was.length !== 2 || spec.ipFamilyPolicy === "SingleStack") return;
  const detail = `must be set to 'SingleStack' when releasing the secondary ${what}`;
  problems.invalid(policyPath, spec.ipFamilyPolicy ?? null, detail);
}
