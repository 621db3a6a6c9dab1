/** Validation of well-known pod annotations, most of which fields have replaced. */
import { memoize } from "#base";
import type { Path, Problems } from "#schema";
import { type Domain, type HookContext, resolve } from "#meta";
import { entry, sortedKeys } from "../../../strategy.ts";
import { allContainers, eachContainer } from "./pod-containers.ts";
import type { PodTemplateSpec } from "./pod-spec.ts";
import { checkDescendingPath } from "../../shared/path-rules.ts";

export const annotationKeys = memoize((domain: Domain) => {
  const key = (template: string) => resolve(template, domain);
  return {
    mirror: key("{label}/config.mirror"),
    deletionCost: key("controller.{label}/pod-deletion-cost"),
    seccompPod: key("seccomp.security.alpha.{label}/pod"),
    seccompContainer: key("container.seccomp.security.alpha.{label}/"),
    appArmor: key("container.apparmor.security.beta.{label}/"),
    critical: key("scheduler.alpha.{label}/critical-pod"),
    sysctls: key("security.alpha.{label}/sysctls"),
    unsafeSysctls: key("security.alpha.{label}/unsafe-sysctls"),
  };
});

interface AnnotationContext {
  readonly domain: Domain;
  readonly problems: Problems;
}

/**
 * Validates well-known annotations.
 * @param path path of the annotations
 */
export function checkPodAnnotations(
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
  path: Path,
  { domain, gate, problems }: AnnotationContext & Pick<HookContext, "gate">,
): void {
  const { annotations } = metadata;
  const keys = annotationKeys(domain);
  const mirror = entry(annotations, keys.mirror);
  if (mirror !== undefined && !spec.nodeName) {
    const detail = "must set spec.nodeName if mirror pod annotation is set";
    problems.invalid(path.key(keys.mirror), mirror, detail);
  }
  const cost = entry(annotations, keys.deletionCost);
  if (cost !== undefined && gate("PodDeletionCost") && !isInt32(cost)) {
    problems.invalid(path.key(keys.deletionCost), cost, "must be a 32bit integer");
  }
  for (const key of sortedKeys(annotations)) {
    if (key !== keys.seccompPod && !key.startsWith(keys.seccompContainer)) continue;
    checkSeccompText(entry(annotations, key) ?? "", path.child(key), problems);
  }
  const names = new Set(allContainers(spec).map((container) => container.name));
  for (const key of sortedKeys(annotations)) {
    if (!key.startsWith(keys.appArmor)) continue;
    const name = key.slice(keys.appArmor.length);
    if (!names.has(name)) {
      problems.invalid(path.key(key), name, "container not found");
    }
    const profile = entry(annotations, key) ?? "";
    const known = ["", "runtime/default", "unconfined"];
    if (known.includes(profile) || profile.startsWith("localhost/")) continue;
    const detail = `invalid AppArmor profile name: ${JSON.stringify(profile)}`;
    problems.invalid(path.key(key), profile, detail);
  }
}

/** Whether Go parses the text as int32: optional sign, no leading zeros, no spaces. */
function isInt32(text: string): boolean {
  if (!/^-?(0|[1-9][0-9]*)$/.test(text)) return false;
  const value = Number(text);
  return value >= -(2 ** 31) && value < 2 ** 31;
}

function checkSeccompText(profile: string, path: Path, problems: Problems): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return;
  if (!profile.startsWith("localhost/")) {
    problems.invalid(path, profile, "must be a valid seccomp profile");
  } else checkDescendingPath(profile.slice("localhost/".length), path, problems);
}

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

/** Requires an annotation and its field to agree if both are set. */
function checkAgreement(
  annotation: string | undefined,
  profile: Profile | undefined,
  { what, path, problems }: { what: "seccomp" | "apparmor"; path: Path; problems: Problems },
): void {
  if (annotation === undefined || profile === undefined) return;
  const { type, localhostProfile } = profile;
  const differ = () =>
    problems.forbidden(path.child("type"), `${what} type in annotation and field must match`);
  if (type === "Unconfined" && annotation !== "unconfined") differ();
  const defaults = what === "seccomp" ? ["runtime/default", "docker/default"] : ["runtime/default"];
  if (type === "RuntimeDefault" && !defaults.includes(annotation)) differ();
  if (type !== "Localhost") return;
  if (!annotation.startsWith("localhost/")) return differ();
  if (annotation.slice("localhost/".length) === localhostProfile) return;
  const detail = `${what} profile in annotation and field must match`;
  problems.forbidden(path.child("localhostProfile"), detail);
}

/**
 * Requires seccomp annotations and fields to agree.
 * @param path path of the spec
 */
export function checkSeccompAgreement(
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
  path: Path,
  { domain, problems }: AnnotationContext,
): void {
  const keys = annotationKeys(domain);
  checkAgreement(
    entry(metadata.annotations, keys.seccompPod),
    spec.securityContext?.seccompProfile,
    {
      what: "seccomp",
      path: path.child("securityContext", "seccompProfile"),
      problems,
    },
  );
  eachContainer(spec, path, ({ name, securityContext }, containerPath) => {
    const annotation = entry(metadata.annotations, keys.seccompContainer + name);
    checkAgreement(annotation, securityContext?.seccompProfile, {
      what: "seccomp",
      path: containerPath.child("securityContext", "seccompProfile"),
      problems,
    });
  });
}

/** Requires annotations and fields of AppArmor to agree in new pods, except on Windows. */
export function checkAppArmorAgreement(
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
  path: Path,
  { domain, problems }: AnnotationContext,
): void {
  if (spec.os?.name === "windows") return;
  const { appArmor } = annotationKeys(domain);
  eachContainer(spec, path, ({ name, securityContext }, containerPath) => {
    checkAgreement(
      entry(metadata.annotations, appArmor + name),
      securityContext?.appArmorProfile ?? undefined,
      {
        what: "apparmor",
        path: containerPath.child("securityContext", "appArmorProfile"),
        problems,
      },
    );
  });
}
