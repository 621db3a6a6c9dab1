import type { Domain } from "#meta";
import { baseline, type CheckedPod } from "./baseline.ts";
import type { Standard } from "./policy.ts";
import { restricted } from "./restricted.ts";
import type { Violation } from "./quoted.ts";

/** A pod or a pod template. */
export interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: any;
}

export interface ViolationOptions {
  readonly domain: Domain;
  /** Gate UserNamespacesPodSecurityStandards. */
  readonly relaxesUserNamespaces: boolean;
}

/** The checks of a standard that a pod fails, in the order of messages. */
export function violations(
  { metadata, spec }: Template,
  { level, minor }: Standard,
  { domain, relaxesUserNamespaces }: ViolationOptions,
): readonly Violation[] {
  if (level === "privileged") return [];
  const { initContainers, containers, ephemeralContainers } = spec;
  const pod: CheckedPod = {
    spec,
    annotations: metadata?.annotations ?? {},
    containers: [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])],
    domain,
    minor,
    hasUserNamespace: relaxesUserNamespaces && spec.hostUsers === false,
  };
  const checks = level === "baseline" ? baseline : restricted(minor);
  return checks.flatMap((check) => check(pod) ?? []);
}
