/** Validation of security contexts. */
import type { Infer, Path, Problems } from "#schema";
import { isDns1123Subdomain } from "#meta";
import type { Int64 } from "#schema";
import { goShape } from "../../../go/go-shape.ts";
import { invalidEach, unsupported } from "../../../strategy.ts";
import type { Container } from "./containers.ts";
import { checkDescendingPath } from "../../shared/path-rules.ts";
import type { PodSpec } from "../spec/pod-spec.ts";
import {
  type appArmorProfile,
  securityContext,
  type windowsSecurityContextOptions,
} from "./security-context.ts";
import { checkSysctls } from "../spec/sysctl-rules.ts";

type SecurityContext = NonNullable<Container["securityContext"]>;
type PodSecurityContext = NonNullable<PodSpec["securityContext"]>;
type SeccompProfile = NonNullable<SecurityContext["seccompProfile"]>;
type AppArmorProfile = Infer<typeof appArmorProfile>;
type WindowsOptions = Infer<typeof windowsSecurityContextOptions>;

const maxId = 2 ** 31 - 1;

/** Validates a user or group ID unless it is absent. */
export function checkId(id: Int64 | undefined, path: Path, problems: Problems): void {
  if (id === undefined || (id >= 0 && id <= maxId)) return;
  problems.invalid(path, id, `must be between 0 and ${maxId}, inclusive`);
}

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

function checkSeccomp(profile: SeccompProfile | undefined, path: Path, problems: Problems): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const [typePath, profilePath] = [path.child("type"), path.child("localhostProfile")];
  if (type === "") problems.required(typePath, "type is required when seccompProfile is set");
  else if (!profileTypes.includes(type)) {
    unsupported(problems, typePath, { value: type, supported: profileTypes });
  }
  if (type === "Localhost") {
    if (localhostProfile === undefined) {
      problems.required(profilePath, "must be set when seccomp type is Localhost");
    } else checkDescendingPath(localhostProfile, profilePath, problems);
  } else if (localhostProfile !== undefined) {
    const goProfile = { Type: type, LocalhostProfile: localhostProfile };
    problems.invalid(profilePath, goProfile, "can only be set when seccomp type is Localhost");
  }
}

const maxProfileLength = 4095;

function checkAppArmor(profile: AppArmorProfile | undefined, path: Path, problems: Problems): void {
  if (profile === undefined) return;
  const { type, localhostProfile: local } = profile;
  const [typePath, profilePath] = [path.child("type"), path.child("localhostProfile")];
  if (type === "Localhost") {
    const needed = "must be set when AppArmor type is Localhost";
    if (local === undefined) return problems.required(profilePath, needed);
    if (local.trim() !== local) {
      problems.invalid(profilePath, local, "must not be padded with whitespace");
    } else if (local === "") problems.required(profilePath, needed);
    if (local.length > maxProfileLength) problems.tooLong(profilePath, local, maxProfileLength);
  } else if (type === "") {
    problems.required(typePath, "type is required when appArmorProfile is set");
  } else if (!profileTypes.includes(type)) {
    unsupported(problems, typePath, { value: type, supported: profileTypes });
  } else if (local !== undefined) {
    problems.invalid(profilePath, local, "can only be set when AppArmor type is Localhost");
  }
}

const maxSpecKib = 64;
const maxDomainLength = 256;
const maxUserLength = 104;
const netBiosForm = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const domainForm =
  /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$/;

function checkWindows(options: WindowsOptions | undefined, path: Path, problems: Problems): void {
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options ?? {};
  if (gmsaCredentialSpecName !== undefined) {
    const messages = isDns1123Subdomain(gmsaCredentialSpecName);
    const gmsaCredentialSpecNamePath = path.child("gmsaCredentialSpecName");
    invalidEach(problems, gmsaCredentialSpecNamePath, { value: gmsaCredentialSpecName, messages });
  }
  if (gmsaCredentialSpec !== undefined) {
    const size = Buffer.byteLength(gmsaCredentialSpec);
    const refuse = (detail: string) =>
      problems.invalid(path.child("gmsaCredentialSpec"), gmsaCredentialSpec, detail);
    if (size === 0) refuse("gmsaCredentialSpec cannot be an empty string");
    else if (size > maxSpecKib * 1024) {
      refuse(`gmsaCredentialSpec size must be under ${maxSpecKib} KiB`);
    }
  }
  if (runAsUserName === undefined) return;
  const messages = userNameFaults(runAsUserName).map((fault) => `runAsUserName${fault}`);
  invalidEach(problems, path.child("runAsUserName"), { value: runAsUserName, messages });
}

/** Error messages for a Windows user name, `user` or `domain\user`. */
function userNameFaults(name: string): readonly string[] {
  if (name === "") return [" cannot be an empty string"];
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f]/.test(name)) return [" cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return [" cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  return [...(parts.length === 2 ? domainFaults(parts[0] ?? "") : []), ...userFaults(user)];
}

function domainFaults(domain: string): readonly string[] {
  const faults: string[] = [];
  if (domain.length > maxDomainLength) {
    faults.push(`'s Domain length must be under ${maxDomainLength} characters`);
  }
  if (!netBiosForm.test(domain) && !domainForm.test(domain)) {
    faults.push("'s Domain doesn't match the NetBios nor the DNS format");
  }
  return faults;
}

function userFaults(user: string): readonly string[] {
  const faults: string[] = [];
  if (user === "") faults.push("'s User cannot be empty");
  else if (user.length > maxUserLength) {
    faults.push(`'s User length must not be longer than ${maxUserLength} characters`);
  }
  if (/^[. ]+$/.test(user)) faults.push("'s User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    faults.push(`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return faults;
}

interface Surroundings {
  /** False = the pod has its own user namespace. */
  readonly hostUsers: boolean;
  readonly allowPrivileged: boolean;
  readonly problems: Problems;
}

export function checkSecurityContext(
  context: SecurityContext | undefined,
  path: Path,
  { hostUsers, allowPrivileged, problems }: Surroundings,
): void {
  if (context === undefined) return;
  if (context.privileged && !allowPrivileged) {
    problems.forbidden(path.child("privileged"), "disallowed by cluster policy");
  }
  checkId(context.runAsUser, path.child("runAsUser"), problems);
  checkId(context.runAsGroup, path.child("runAsGroup"), problems);
  const { procMount } = context;
  if (procMount !== undefined) {
    const procMountPath = path.child("procMount");
    const modes = ["Default", "Unmasked"];
    if (!modes.includes(procMount)) {
      unsupported(problems, procMountPath, { value: procMount, supported: modes });
    }
    if (procMount === "Unmasked" && hostUsers) {
      problems.invalid(procMountPath, procMount, "`hostUsers` must be false to use `Unmasked`");
    }
  }
  checkSeccomp(context.seccompProfile, path.child("seccompProfile"), problems);
  checkEscalation(context, path, problems);
  checkWindows(context.windowsOptions, path.child("windowsOptions"), problems);
  checkAppArmor(context.appArmorProfile, path.child("appArmorProfile"), problems);
}

function checkEscalation(context: SecurityContext, path: Path, problems: Problems): void {
  if (context.allowPrivilegeEscalation !== false) return;
  const refuse = (other: string) => {
    const detail = `cannot set \`allowPrivilegeEscalation\` to false and ${other}`;
    problems.invalid(path, goShape(securityContext, context), detail);
  };
  if (context.privileged) refuse("`privileged` to true");
  for (const name of context.capabilities?.add ?? []) {
    if (name === "CAP_SYS_ADMIN") refuse("`capabilities.Add` CAP_SYS_ADMIN");
  }
}

/** @param gate determines the supported SELinux change policies */
export function checkPodSecurityContext(
  spec: PodSpec,
  path: Path,
  { gate, problems }: { readonly gate: (name: string) => boolean; readonly problems: Problems },
): void {
  const context: PodSecurityContext = spec.securityContext ?? {};
  checkId(context.fsGroup, path.child("fsGroup"), problems);
  checkId(context.runAsUser, path.child("runAsUser"), problems);
  checkId(context.runAsGroup, path.child("runAsGroup"), problems);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    checkId(group, path.child("supplementalGroups").index(index), problems);
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    problems.invalid(path.child("shareProcessNamespace"), true, detail);
  }
  checkSysctls(spec, path.child("sysctls"), problems);
  checkChoice(context, "fsGroupChangePolicy", {
    path,
    problems,
    values: ["Always", "OnRootMismatch"],
  });
  checkSeccomp(context.seccompProfile, path.child("seccompProfile"), problems);
  checkWindows(context.windowsOptions, path.child("windowsOptions"), problems);
  checkAppArmor(context.appArmorProfile, path.child("appArmorProfile"), problems);
  checkChoice(context, "supplementalGroupsPolicy", {
    path,
    problems,
    values: ["Merge", "Strict"],
  });
  const labelled = gate("SELinuxMount") ? ["MountOption", "Recursive"] : ["Recursive"];
  checkChoice(context, "seLinuxChangePolicy", { path, problems, values: labelled });
}

function checkChoice(
  context: PodSecurityContext,
  field: "fsGroupChangePolicy" | "supplementalGroupsPolicy" | "seLinuxChangePolicy",
  { path, problems, values }: { path: Path; problems: Problems; values: readonly string[] },
): void {
  const value = context[field];
  if (value === undefined || values.includes(value)) return;
  problems.notSupported(path.child(field), value, values);
}
