import type { Random } from "#base";
import type { Stage, StageSpec } from "#kinds";
import {
  durationGetter,
  type Getter,
  type Matcher,
  matcherOf,
  numberGetter,
} from "./expressions.ts";
import { StageFault } from "./stage-fault.ts";
import { type StagedKind, stagedKindOf, type StagedObject } from "../stage-kinds.ts";
import { type Step, stepsOf } from "./steps.ts";

/** Maximum delay: a year. */
const maxMs = 366 * 86_400_000;
/** Maximum number of expressions and steps of a Stage. */
const maxParts = 100;

/** A Stage with parsed expressions and templates. */
export interface CompiledStage {
  readonly name: string;
  readonly kind: StagedKind;
  readonly steps: readonly Step[];
  /** Whether the next Stage is chosen from the last write's response, before the informer shows it. */
  readonly isImmediate: boolean;
  readonly matches: Matcher;
  readonly weightOf: Getter<number>;
  readonly delayOf: Getter<number>;
  readonly jitterOf: Getter<number>;
}

/**
 * Undefined for a Stage without a selector, which selects no object.
 * @throws StageFault
 */
export function compileStage({ metadata, spec }: Stage): CompiledStage | undefined {
  const kind = stagedKindOf(spec.resourceRef);
  requireBounds(spec);
  if (spec.selector === undefined) return undefined;
  const { delay, weight = 0, weightFrom } = spec;
  const jitter = delay?.jitterDurationMilliseconds;
  return {
    name: metadata.name,
    kind,
    steps: stepsOf(spec, kind),
    isImmediate: spec.immediateNextStage === true,
    matches: selectorOf(spec.selector),
    weightOf: numberGetter(Number(weight), weightFrom),
    delayOf: durationGetter(
      delay === undefined ? undefined : Number(delay.durationMilliseconds ?? 0),
      delay?.durationFrom,
    ),
    jitterOf: durationGetter(
      jitter === undefined ? undefined : Number(jitter),
      delay?.jitterDurationFrom,
    ),
  };
}

/** @throws StageFault */
function requireBounds({ steps = [], next, selector }: StageSpec): void {
  const expressions = selector?.matchExpressions?.length ?? 0;
  if (Math.max(steps.length, next?.patches?.length ?? 0, expressions) > maxParts) {
    throw new StageFault(`more than ${maxParts} steps or expressions`);
  }
}

function selectorOf(selector: NonNullable<StageSpec["selector"]>): Matcher {
  const { matchLabels = {}, matchAnnotations = {}, matchExpressions = [] } = selector;
  const labels = Object.entries(matchLabels);
  const annotations = Object.entries(matchAnnotations);
  const matchers = matchExpressions.map(matcherOf);
  return (object) => {
    const { metadata } = object as StagedObject;
    return (
      labels.every(([key, value]) => metadata.labels?.[key] === value) &&
      annotations.every(([key, value]) => metadata.annotations?.[key] === value) &&
      matchers.every((matches) => matches(object))
    );
  };
}

/** Inputs of the choice of a Stage. */
export interface Choice {
  /** With its type. */
  readonly object: StagedObject;
  /** Wall clock in ms. */
  readonly now: number;
  readonly random: Random;
}

/**
 * Chooses the next Stage among those that select an object, randomly by weight. Stages without a weight are
 * chosen only among themselves, those with weight 0 only if no other has more.
 */
export function chooseStage(
  stages: readonly CompiledStage[],
  { object, now, random }: Choice,
): CompiledStage | undefined {
  if (stages.length < 2) return stages[0];
  const weights = stages.map((stage) => stage.weightOf(object, now));
  const total = weights.reduce<number>((sum, weight) => sum + Math.max(weight ?? 0, 0), 0);
  if (total === 0) {
    const weighted = stages.filter((_, at) => weights[at] !== undefined);
    return random.pick(weighted.length > 0 ? weighted : stages);
  }
  let left = Math.floor(random.next() * total);
  return stages.find((_, at) => (left -= Math.max(weights[at] ?? 0, 0)) < 0);
}

/** Delay of a Stage in ms: its duration, or random between duration and jitter. */
export function delayOf(stage: CompiledStage, { object, now, random }: Choice): number {
  const duration = stage.delayOf(object, now);
  if (duration === undefined) return 0;
  const jitter = stage.jitterOf(object, now);
  const delay =
    jitter === undefined || jitter <= duration
      ? (jitter ?? duration)
      : duration + Math.floor(random.next() * (jitter - duration));
  return Math.min(Math.max(delay, 0), maxMs);
}
