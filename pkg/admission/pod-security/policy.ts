import { type Domain, resolve } from "#meta";

/** Pod Security Standards, from the laxest on. */
const levels = ["privileged", "baseline", "restricted"] as const;
type Level = (typeof levels)[number];

/** A level as it was in a minor version of Kubernetes; Infinity = as it is now. */
export interface Standard {
  readonly level: Level;
  readonly minor: number;
}

/** What becomes of pods that do not conform: they are refused, recorded, or warned of. */
export interface NamespacePolicy {
  readonly enforce: Standard;
  readonly audit: Standard;
  readonly warn: Standard;
}

const modes = ["enforce", "audit", "warn"] as const;
type Mode = (typeof modes)[number];

export const lax: Standard = { level: "privileged", minor: Infinity };

/** Undefined for what is none. */
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

type Labels = Readonly<Record<string, string>>;

/**
 * The policy that a namespace's labels ask for, over the defaults. Labels that make no sense are as
 * strict as can be where they would refuse, and nothing otherwise. Who enforces without a word
 * about warnings warns of the same, so that templates of pods are not accepted in silence.
 */
export function policyOf(labels: Labels, defaults: NamespacePolicy, domain: Domain): Labelled {
  const faults: LabelFault[] = [];
  const read = (mode: Mode, fallback: Standard): Standard => {
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
    const strictest = mode === "enforce" ? "restricted" : "privileged";
    return { level: level ?? strictest, minor: minor ?? Infinity };
  };
  const enforce = read("enforce", defaults.enforce);
  const told = valueOf(labels, labelOf("enforce", domain));
  const known = levelOf(told) !== undefined;
  const policy = {
    enforce,
    audit: read("audit", defaults.audit),
    warn: read("warn", known ? enforce : defaults.warn),
  };
  return { policy, faults };
}

/** Undefined for what is neither `latest` nor `v1.` and a number. */
export function minorOf(version: string): number | undefined {
  if (version === "latest") return Infinity;
  const [, minor] = /^v1\.(0|[1-9]\d{0,8})$/.exec(version) ?? [];
  return minor === undefined ? undefined : Number(minor);
}

function labelOf(mode: Mode, domain: Domain): string {
  return resolve(`pod-security.{label}/${mode}`, domain);
}

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
