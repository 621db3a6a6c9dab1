import { type PortSet, rangeText } from "./port-set.ts";

/** Takes ports for one write. */
export interface PortOperation {
  /** The ports taken so far. */
  readonly taken: readonly number[];
  /** Takes the port; returns the error message, or undefined on success. */
  take(port: number): string | undefined;
  /** Takes any port; undefined if none is free. */
  next(): number | undefined;
}

const allocated = "provided port is already allocated";

/** Adds the ports to the set. */
export class AllocatedPorts implements PortOperation {
  readonly taken: number[] = [];

  constructor(
    private readonly ports: PortSet,
    private readonly below: (limit: number) => number,
  ) {}

  take(port: number): string | undefined {
    if (!this.ports.inRange(port)) {
      const range = rangeText(this.ports.range);
      return `provided port is not in the valid range. The range of valid ports is ${range}`;
    }
    if (this.ports.has(port)) return allocated;
    this.add(port);
    return undefined;
  }

  next(): number | undefined {
    const port = this.ports.free(this.below);
    if (port !== undefined) this.add(port);
    return port;
  }

  private add(port: number): void {
    this.ports.add(port);
    this.taken.push(port);
  }
}

/** The port before the first one that a dry run answers. */
const beforeFirst = 32_768;

/**
 * Takes nothing: any given port that is not allocated, also one out of the range, and for the others the
 * numbers that follow, as kube-apiserver's PortAllocationOperation in a dry run.
 */
export class DryRunPorts implements PortOperation {
  readonly taken: number[] = [];

  constructor(private readonly ports: PortSet) {}

  take(port: number): string | undefined {
    if (this.ports.has(port) || this.taken.includes(port)) return allocated;
    this.taken.push(port);
    return undefined;
  }

  next(): number {
    const last = this.taken.length === 0 ? beforeFirst : Math.max(0, ...this.taken);
    this.taken.push(last + 1);
    return last + 1;
  }
}
