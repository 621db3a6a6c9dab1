/** Quality of service class of a pod. */
import { Quantity } from "#meta";
import { sortedKeys } from "../../strategy.ts";
import type { PodSpec } from "./spec/pod-spec.ts";
import { type Amounts, type SomeAmounts, sumOf } from "../shared/resource-amounts.ts";

export type QualityClass = "Guaranteed" | "Burstable" | "BestEffort";

const qosResources = ["cpu", "memory"];

/** Positive amounts of the resources that determine the class. */
function positiveAmounts(amounts: SomeAmounts): Amounts {
  const found = Object.entries(amounts ?? {}).filter(
    ([name, amount]) => qosResources.includes(name) && Quantity.parse(amount).sign > 0,
  );
  return Object.fromEntries(found);
}

interface Totals {
  readonly requests: Amounts;
  readonly limits: Amounts;
  /** Whether all containers limit cpu and memory. */
  readonly isLimited: boolean;
}

function isLimited(limits: Amounts): boolean {
  return qosResources.every((name) => Object.hasOwn(limits, name));
}

/** Pod-level resources take precedence over those of containers. */
function totalsOf(spec: PodSpec): Totals {
  if (spec.resources !== undefined) {
    const limits = positiveAmounts(spec.resources.limits);
    const isAbsent = Object.keys(spec.resources.limits ?? {}).length === 0;
    const requests = positiveAmounts(spec.resources.requests);
    return { requests, limits, isLimited: isAbsent || isLimited(limits) };
  }
  let totals: Totals = { requests: {}, limits: {}, isLimited: true };
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const limits = positiveAmounts(resources.limits);
    totals = {
      requests: sumOf(totals.requests, positiveAmounts(resources.requests)),
      limits: sumOf(totals.limits, limits),
      isLimited: totals.isLimited && isLimited(limits),
    };
  }
  return totals;
}

export function qualityClassOf(spec: PodSpec): QualityClass {
  const { requests, limits, isLimited: everything } = totalsOf(spec);
  const [asked, allowed] = [sortedKeys(requests), sortedKeys(limits)];
  if (asked.length === 0 && allowed.length === 0) return "BestEffort";
  const sameAmount = (name: string) => {
    const [request = "0", limit = "0"] = [requests[name], limits[name]];
    return Quantity.parse(request).equals(Quantity.parse(limit));
  };
  const isGuaranteed =
    everything &&
    asked.length === allowed.length &&
    asked.every((name) => allowed.includes(name) && sameAmount(name));
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
