import { Quantity } from "#meta";
import { amountOf, type Amounts } from "#quota";

export interface LimitRule {
  /** Container, Pod or PersistentVolumeClaim. */
  readonly type: string;
  readonly min?: Amounts;
  readonly max?: Amounts;
  readonly maxLimitRequestRatio?: Amounts;
}

export interface Usage {
  readonly requests: Amounts;
  /** Undefined for claims, which have requests only. */
  readonly limits: Amounts | undefined;
}

/** Violations of a rule, with Kubernetes' messages: minimum, maximum, ratio, each sorted by resource. */
export function checkLimits(rule: LimitRule, usage: Usage): readonly string[] {
  return [
    ...each(rule.min, (name, bound) => minimum(rule.type, name, { bound, usage })),
    ...each(rule.max, (name, bound) => maximum(rule.type, name, { bound, usage })),
    ...each(rule.maxLimitRequestRatio, (name, bound) => ratio(rule.type, name, { bound, usage })),
  ];
}

function each(
  bounds: Amounts | undefined,
  check: (name: string, bound: Quantity) => string | undefined,
): readonly string[] {
  return Object.keys(bounds ?? {})
    .sort()
    .map((name) => check(name, Quantity.parse(bounds![name]!)))
    .filter((fault) => fault !== undefined);
}

interface Bounded {
  readonly bound: Quantity;
  readonly usage: Usage;
}

function minimum(type: string, name: string, { bound, usage }: Bounded): string | undefined {
  const head = `minimum ${name} usage per ${type} is ${bound}`;
  const request = amountOf(usage.requests, name);
  const limit = amountOf(usage.limits, name);
  if (request === undefined) return `${head}.  No request is specified`;
  if (request.compare(bound) < 0) return `${head}, but request is ${request}`;
  if (limit !== undefined && limit.compare(bound) < 0) return `${head}, but limit is ${limit}`;
  return undefined;
}

function maximum(type: string, name: string, { bound, usage }: Bounded): string | undefined {
  const head = `maximum ${name} usage per ${type} is ${bound}`;
  const request = amountOf(usage.requests, name);
  if (usage.limits !== undefined) {
    const limit = amountOf(usage.limits, name);
    if (limit === undefined) return `${head}.  No limit is specified`;
    if (limit.compare(bound) > 0) return `${head}, but limit is ${limit}`;
  } else if (request === undefined) return `${head}.  No request is specified`;
  if (request !== undefined && request.compare(bound) > 0) {
    return `${head}, but request is ${request}`;
  }
  return undefined;
}

function ratio(type: string, name: string, { bound, usage }: Bounded): string | undefined {
  const head = `${name} max limit to request ratio per ${type} is ${bound}, but`;
  const request = amountOf(usage.requests, name);
  const limit = amountOf(usage.limits, name);
  if (request === undefined || request.isZero) {
    return `${head} no request is specified or request is 0`;
  }
  if (limit === undefined || limit.isZero) return `${head} no limit is specified or limit is 0`;
  const observed = limit.toNumber() / request.toNumber();
  if (observed <= bound.toNumber()) return undefined;
  return `${head} provided ratio is ${observed.toFixed(6)}`;
}
