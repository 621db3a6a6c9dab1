/** Sums of what containers ask for. */
import { assign } from "#base";
import { Quantity } from "#meta";
import { entry } from "../strategy.ts";
import type { Container } from "./containers.ts";
import type { PodSpec } from "./pod-spec.ts";

export type Amounts = Record<string, string>;
export type SomeAmounts = Readonly<Amounts> | undefined;

/** Finer amounts are rounded up to thousandths, in place: what defaulting does to every resource list. */
export function roundAmounts(amounts: Amounts | undefined): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    const rounded = Quantity.parse(amount).roundUp(-3).toString();
    if (rounded !== amount) assign(amounts ?? {}, name, rounded);
  }
}

/**
 * Not a whole number, as Kubernetes finds out: it counts thousandths in 64 bits, which amounts in
 * the quintillions overflow.
 */
export function isFractional(amount: string): boolean {
  const thousandths = BigInt.asIntN(64, Quantity.parse(amount).milliValue());
  return thousandths % 1000n !== 0n;
}

function compare(left: string, right: string): number {
  return Quantity.parse(left).compare(Quantity.parse(right));
}

export function sumOf(left: SomeAmounts, right: SomeAmounts): Amounts {
  const sum: Amounts = { ...left };
  for (const [name, amount] of Object.entries(right ?? {})) {
    const before = entry(sum, name);
    const total =
      before === undefined ? amount : `${Quantity.parse(before).add(Quantity.parse(amount))}`;
    assign(sum, name, total);
  }
  return sum;
}

export function largestOf(left: SomeAmounts, right: SomeAmounts): Amounts {
  const largest: Amounts = { ...left };
  for (const [name, amount] of Object.entries(right ?? {})) {
    const before = entry(largest, name);
    if (before === undefined || compare(amount, before) > 0) assign(largest, name, amount);
  }
  return largest;
}

type Field = "requests" | "limits";

/** A sidecar: an init container that goes on beside the others. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/**
 * What all containers need together: the sum of those that run at once, or what one init container
 * needs beside the sidecars before it, if that is more.
 */
export function containerTotal(spec: PodSpec, field: Field): Amounts {
  const amounts = (container: Container) => container.resources[field];
  let total: Amounts = {};
  for (const container of spec.containers ?? []) total = sumOf(total, amounts(container));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = amounts(container);
    if (isSidecar(container)) {
      total = sumOf(total, own);
      sidecars = sumOf(sidecars, own);
      starting = largestOf(starting, sidecars);
    } else starting = largestOf(starting, sumOf(sidecars, own));
  }
  return largestOf(total, starting);
}
