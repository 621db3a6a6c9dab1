import { type Domain, resolve } from "#meta";

/** Pod Security Standards, from the least strict. */
const levels = ["privileged", "baseline", "restricted"] as const;
type Level = (typeof levels)[number];

/** A level as defined by a minor version of Kubernetes; Infinity = the latest. */
export interface Standard {
  readonly level: Level;
  readonly minor: number;
}

/** Standards of a namespace by mode: violations are rejected, added to the audit log, or warned about. */
export interface NamespacePolicy {
  readonly enforce: Standard;
  readonly audit: Standard;
  readonly warn: Standard;
}

const modes = ["enforce", "audit", "warn"] as const;
type Mode = (typeof modes)[number];

export const lax: Standard = { level: "privileged", minor: Infinity };

/** Undefined for an unknown level. */
export function levelOf(text: unknown): Level | undefined {
  return levels.find((each) => each === text);
}

/** `restricted:latest` or `baseline:v1.28` */
export function standardText({ level, minor }: Standard): string {
  return `${level}:${minor === Infinity ? "latest" : `v1.${minor}`}`;
}

interface LabelFault {
  /** Key of the label. */
  readonly key: string;
  readonly value: string;
  readonly detail: string;
}

interface Labelled {
  readonly policy: NamespacePolicy;
  readonly faults: readonly LabelFault[];
}

export type Labels = Readonly<Record<string, string>>;

/**
 * Policy by the labels of a namespace, with defaults. An invalid level means `restricted` for enforce and
 * `privileged` for audit and warn; an invalid version means latest. Without a warn label, the enforced level
 * is also warned about if it is stricter, so that violating pod templates are not accepted silently.
 */
export function policyOf(labels: Labels, defaults: NamespacePolicy, domain: Domain): Labelled {
  const faults: LabelFault[] = [];
  const read = (mode: Mode): Standard => {
    const fallback = defaults[mode];
    const [key, versionKey] = [labelOf(mode, domain), `${labelOf(mode, domain)}-version`];
    const [value, version] = [valueOf(labels, key), valueOf(labels, versionKey)];
    const level = value === undefined ? fallback.level : levelOf(value);
    if (level === undefined && value !== undefined) {
      faults.push({ key, value, detail: `must be one of ${levels.join(", ")}` });
    }
    const minor = version === undefined ? fallback.minor : minorOf(version);
    if (minor === undefined && version !== undefined) {
      faults.push({ key: versionKey, value: version, detail: 'must be "latest" or "v1.x"' });
    }
    const invalid = mode === "enforce" ? "restricted" : "privileged";
    return { level: level ?? invalid, minor: minor ?? Infinity };
  };
  const [enforce, audit, warn] = [read("enforce"), read("audit"), read("warn")];
  const label = (suffix: string) => valueOf(labels, labelOf(suffix, domain));
  const inherits =
    label("warn") === undefined &&
    levelOf(label("enforce")) !== undefined &&
    compareLevels(enforce, warn) > 0;
  const minor = label("warn-version") === undefined ? enforce.minor : warn.minor;
  const policy = { enforce, audit, warn: inherits ? { level: enforce.level, minor } : warn };
  return { policy, faults };
}

/** Compares strictness; positive = `left` is stricter. */
export function compareLevels(left: Standard, right: Standard): number {
  return levels.indexOf(left.level) - levels.indexOf(right.level);
}

/** Whether all modes are `privileged`. */
export function isPrivileged(policy: NamespacePolicy): boolean {
  return modes.every((mode) => policy[mode].level === "privileged");
}

/** Minor version of `latest` or `v1.<n>`; undefined = invalid. */
export function minorOf(version: string): number | undefined {
  if (version === "latest") return Infinity;
  const [, minor] = /^v1\.(0|[1-9]\d{0,14})$/.exec(version) ?? [];
  return minor === undefined ? undefined : Number(minor);
}

export function labelOf(mode: string, domain: Domain): string {
  return resolve(`pod-security.{label}/${mode}`, domain);
}

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
