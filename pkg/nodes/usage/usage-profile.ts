import { parseDuration, Quantity } from "#meta";

/** An amount in use that may change over time. */
export interface UsageProfile {
  /** The amount at a time in seconds since the start: cores, or bytes. */
  at(seconds: number): number;
  /** The amount summed up over the time from the start: core-seconds, or byte-seconds. */
  total(seconds: number): number;
}

interface Step {
  /** Seconds since the start. */
  readonly from: number;
  readonly amount: number;
}

/** Maximum number of steps. */
const maxSteps = 100;

/**
 * Parses a profile: a quantity (`250m`); steps at times since the start, that may be repeated
 * (`0s:100m,1m:800m,every:10m`); or a sine between two quantities, lowest at the start
 * (`sine:100m:900m:10m`). Undefined = the text is none of them.
 */
export function parseUsageProfile(text: string): UsageProfile | undefined {
  const constant = amountOf(text);
  if (constant !== undefined) return steps([{ from: 0, amount: constant }], Infinity);
  if (text.startsWith("sine:")) return parseSine(text.split(":"));
  const parts = text.split(",").map((part) => part.trim().split(":"));
  if (parts.length > maxSteps) return undefined;
  const [name, every = ""] = parts.at(-1)!;
  const period = name === "every" ? secondsOf(every) : Infinity;
  const listed = (name === "every" ? parts.slice(0, -1) : parts).map(([time = "", amount = ""]) => {
    return { from: secondsOf(time), amount: amountOf(amount) };
  });
  const isOrdered = listed.every(({ from }, at) => {
    return from !== undefined && from >= (listed[at - 1]?.from ?? 0);
  });
  if (listed.length === 0 || !isOrdered || !(period! > 0)) return undefined;
  if (listed.some(({ amount }) => amount === undefined)) return undefined;
  return steps(listed as readonly Step[], period!);
}

function parseSine([, low = "", high = "", time = ""]: readonly string[]):
  | UsageProfile
  | undefined {
  const [bottom, top, period] = [amountOf(low), amountOf(high), secondsOf(time)];
  if (bottom === undefined || top === undefined || !(period! > 0)) return undefined;
  const middle = (bottom + top) / 2;
  const swing = (top - bottom) / 2;
  const turn = (2 * Math.PI) / period!;
  return {
    at: (seconds) => middle - swing * Math.cos(turn * seconds),
    total: (seconds) => middle * seconds - (swing / turn) * Math.sin(turn * seconds),
  };
}

/** Nothing is used before the first step. */
function steps(all: readonly Step[], period: number): UsageProfile {
  const totalOfRound = (seconds: number) =>
    all.reduce((sum, { from, amount }, index) => {
      const until = Math.min(seconds, all[index + 1]?.from ?? Infinity);
      return sum + amount * Math.max(0, until - from);
    }, 0);
  const split = (seconds: number) => {
    const rounds = Math.floor(seconds / period);
    return { rounds, rest: rounds === 0 ? seconds : seconds - rounds * period };
  };
  return {
    at: (seconds) => {
      const { rest } = split(seconds);
      return all.findLast(({ from }) => from <= rest)?.amount ?? 0;
    },
    total: (seconds) => {
      const { rounds, rest } = split(seconds);
      const before = rounds === 0 ? 0 : rounds * totalOfRound(period);
      return before + totalOfRound(rest);
    },
  };
}

function amountOf(text: string): number | undefined {
  try {
    const amount = Quantity.parse(text);
    return amount.compare(Quantity.zero) < 0 ? undefined : amount.toNumber();
  } catch {
    return undefined;
  }
}

function secondsOf(text: string): number | undefined {
  try {
    const seconds = Number(parseDuration(text)) / 1e9;
    return seconds >= 0 ? seconds : undefined;
  } catch {
    return undefined;
  }
}
