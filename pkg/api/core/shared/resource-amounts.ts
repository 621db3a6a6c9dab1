/** Arithmetic on resource amounts of pods. */
import { assign } from "#base";
import { Quantity } from "#meta";
import { entry } from "../../strategy.ts";
import type { Container } from "../pod/container/containers.ts";
import type { PodSpec } from "../pod/spec/pod-spec.ts";

export type Amounts = Record<string, string>;
export type SomeAmounts = Readonly<Amounts> | undefined;

/** Rounds quantities up to thousandths in place, as Kubernetes does in every resource list. */
export function roundAmounts(amounts: Amounts | undefined): void {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    const rounded = Quantity.parse(amount).roundUp(-3).toString();
    if (rounded !== amount) assign(amounts ?? {}, name, rounded);
  }
}

const maxInt64 = 2n ** 63n - 1n;
/** Largest power of ten per multiplication; higher ones stop at an overflow. */
const maxExponentStep = 9;

/**
 * Whether the quantity is not an integer. Kubernetes counts thousandths in 64 bits, which large
 * amounts overflow.
 */
export function isFractional(amount: string): boolean {
  const { mantissa, exponent } = Quantity.parse(amount);
  const isShort = mantissa <= maxInt64 && mantissa >= -maxInt64;
  const thousandths = Quantity.parse(amount).milliValue();
  const fits = BigInt.asIntN(64, thousandths) === thousandths;
  if (isShort && exponent + 3 > maxExponentStep && !fits) return false;
  return BigInt.asIntN(64, thousandths) % 1000n !== 0n;
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

function largestOf(left: SomeAmounts, right: SomeAmounts): Amounts {
  const largest: Amounts = { ...left };
  for (const [name, amount] of Object.entries(right ?? {})) {
    const before = entry(largest, name);
    if (before === undefined || compare(amount, before) > 0) assign(largest, name, amount);
  }
  return largest;
}

type Field = "requests" | "limits";

/** Whether the init container is a sidecar (restartPolicy Always). */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/**
 * Effective amounts of a pod: sum of the containers that run together, or the maximum of an init
 * container plus its preceding sidecars, whichever is larger.
 */
export function containerTotal(spec: PodSpec, field: Field): Amounts {
  const amounts = (container: Container) => container.resources[field];
  let total: Amounts = {};
  for (const container of spec.containers ?? []) total = sumOf(total, amounts(container));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const amountsOfContainer = amounts(container);
    if (isSidecar(container)) {
      total = sumOf(total, amountsOfContainer);
      sidecars = sumOf(sidecars, amountsOfContainer);
      starting = largestOf(starting, sidecars);
    } else starting = largestOf(starting, sumOf(sidecars, amountsOfContainer));
  }
  return largestOf(total, starting);
}
