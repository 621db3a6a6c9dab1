/** Constraints across the devices of a claim. */
import type { DeviceAttribute, DeviceConstraint } from "#kinds";
import type { Candidate } from "./pools.ts";

/** Name of a request, and of the subrequest being tried. */
export interface RequestName {
  readonly request: string;
  readonly alternative?: string;
}

/** A constraint. It is monotonic: a violated constraint stays violated when devices are added. */
export interface Constraint {
  /** Adds a device; returns false if that violates the constraint. */
  add(name: RequestName, candidate: Candidate): boolean;
  /** Reverts a successful `add`. */
  remove(name: RequestName, candidate: Candidate): void;
}

/** Creates a constraint; undefined = unknown type. */
export function constraintOf(constraint: DeviceConstraint): Constraint | undefined {
  const { requests = [], matchAttribute, distinctAttribute } = constraint;
  const names = new Set(requests);
  if (matchAttribute !== undefined) return new AttributeConstraint(names, matchAttribute, true);
  if (distinctAttribute === undefined) return undefined;
  return new AttributeConstraint(names, distinctAttribute, false);
}

class AttributeConstraint implements Constraint {
  /** Number of devices with each value. */
  private readonly counts = new Map<string, number>();

  constructor(
    /** Empty = all requests. */
    private readonly requests: ReadonlySet<string>,
    private readonly attribute: string,
    /** matchAttribute (equal values) or distinctAttribute (distinct values). */
    private readonly isSame: boolean,
  ) {}

  add(name: RequestName, candidate: Candidate): boolean {
    if (!this.appliesTo(name)) return true;
    const value = this.valueOf(candidate);
    if (value === undefined) return false;
    const count = this.counts.get(value) ?? 0;
    const isSatisfied = this.isSame ? count > 0 || this.counts.size === 0 : count === 0;
    if (isSatisfied) this.counts.set(value, count + 1);
    return isSatisfied;
  }

  remove(name: RequestName, candidate: Candidate): void {
    if (!this.appliesTo(name)) return;
    const value = this.valueOf(candidate)!;
    const count = this.counts.get(value)! - 1;
    if (count > 0) this.counts.set(value, count);
    else this.counts.delete(value);
  }

  private appliesTo({ request, alternative }: RequestName): boolean {
    const { requests } = this;
    if (requests.size === 0 || requests.has(request)) return true;
    return alternative !== undefined && requests.has(`${request}/${alternative}`);
  }

  private valueOf({ device, slice }: Candidate): string | undefined {
    const { attributes = {} } = device;
    const own = ownAttribute(attributes, this.attribute);
    if (own !== undefined) return keyOf(own);
    // A driver may publish its own attributes without its domain.
    const slash = this.attribute.indexOf("/");
    if (slash < 0 || this.attribute.slice(0, slash) !== slice.spec.driver) return undefined;
    const local = ownAttribute(attributes, this.attribute.slice(slash + 1));
    return local === undefined ? undefined : keyOf(local);
  }
}

/** Attribute by name; safe for names such as `constructor`. */
function ownAttribute(
  attributes: Readonly<Record<string, DeviceAttribute>>,
  name: string,
): DeviceAttribute | undefined {
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

/** Key of type and value; undefined = unknown type. */
function keyOf({ string, int, bool, version }: DeviceAttribute): string | undefined {
  if (string !== undefined) return `string ${string}`;
  if (int !== undefined) return `int ${int}`;
  if (bool !== undefined) return `bool ${bool}`;
  return version === undefined ? undefined : `version ${version}`;
}
