/** Resolves `--feature-gates` by the table of gates. */
import { type Effect, gateRows } from "./gate-table.ts";

type Stage = "alpha" | "beta" | "stable" | "deprecated";

export interface Gate {
  readonly stage: Stage;
  readonly on: boolean;
  /** Whether the gate cannot be changed. */
  readonly isLocked: boolean;
  readonly effect: Effect;
}

/** Invalid value of `--feature-gates`. */
export class FeatureGateError extends Error {
  override readonly name = "FeatureGateError";
}

/** All gates by name. */
export const knownGates: ReadonlyMap<string, Gate> = new Map(
  gateRows.trim().split("\n").map(parseRow),
);

function parseRow(row: string): [string, Gate] {
  const [words = "", effect = ""] = row.trim().split(": ");
  const [name = "", stage = "", state = "", locked = ""] = words.split(" ");
  return [
    name,
    {
      stage: stage as Stage,
      on: state === "on",
      isLocked: locked === "locked",
      effect: effect as Effect,
    },
  ];
}

/**
 * Resolves `--feature-gates`: `AllAlpha` and `AllBeta` set a whole stage, explicit gates take
 * precedence. Gates missing in the table are off.
 * @throws FeatureGateError for unknown names, values that are not boolean, and changes of locked gates
 */
export function featureGates(settings: ReadonlyMap<string, string>): (name: string) => boolean {
  const set = new Map([...settings].map(([name, value]) => [name, checkSetting(name, value)]));
  const stageDefaults: Readonly<Partial<Record<Stage, boolean | undefined>>> = {
    alpha: set.get("AllAlpha"),
    beta: set.get("AllBeta"),
  };
  return (name) => {
    const gate = knownGates.get(name);
    return set.get(name) ?? (gate && stageDefaults[gate.stage]) ?? gate?.on ?? false;
  };
}

/** Gates set to another value than their default, but without effect, in the order of `settings`. */
export function gatesWithoutEffect(settings: ReadonlyMap<string, string>): readonly string[] {
  return [...settings].flatMap(([name, value]) => {
    const gate = knownGates.get(name);
    const isChanged = gate !== undefined && gate.on !== parseBool(value);
    return isChanged && gate.effect !== "acts" ? [name] : [];
  });
}

/** All gates with their stages. */
export function featureStages(): ReadonlyMap<string, Stage> {
  return new Map([...knownGates].map(([name, { stage }]) => [name, stage]));
}

function checkSetting(name: string, text: string): boolean {
  const value = parseBool(text);
  if (name !== "AllAlpha" && name !== "AllBeta" && !knownGates.has(name)) {
    throw new FeatureGateError(`--feature-gates: unrecognized feature gate: ${name}`);
  }
  if (value === undefined) {
    throw new FeatureGateError(
      `--feature-gates: invalid value of ${name}=${text}, ` +
        `err: strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  const gate = knownGates.get(name);
  if (gate?.isLocked === true && gate.on !== value) {
    throw new FeatureGateError(
      `--feature-gates: cannot set feature gate ${name} to ${value}, feature is locked to ${gate.on}`,
    );
  }
  return value;
}

/** Go's ParseBool; undefined for other texts. */
function parseBool(text: string): boolean | undefined {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : undefined;
}
