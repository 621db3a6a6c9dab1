/** How long a container runs by its command, for the few programs whose end is told by their arguments. */
import type { Container } from "#kinds";
import type { ContainerExit } from "../annotations.ts";

/** A program that runs until it is stopped. */
const endless: ContainerExit = { afterMs: Infinity, code: 0 };
/** Longer commands are not interpreted. */
const longestScript = 4_096;

/**
 * The end of a container as its command tells: `sleep N`, `true`, `false`, or `sh -c` of these and `exit N`.
 * Pause containers never end. Undefined = the command tells nothing.
 */
export function commandExit({
  image = "",
  command = [],
  args = [],
}: Container): ContainerExit | undefined {
  const words = [...command, ...args];
  if (command.length === 0 && (isPause(image) || args[0] === "pause")) return endless;
  if (words.reduce((sum, { length }) => sum + length, 0) > longestScript) return undefined;
  const isShell = /^(?:\/(?:usr\/)?bin\/)?(?:ba|a|da|z)?sh$/.test(words[0] ?? "");
  if (!isShell) return programExit(words);
  const [, option = "", script = ""] = words;
  return /^-[euxl]*c$/.test(option) ? scriptExit(script) : undefined;
}

function isPause(image: string): boolean {
  return /(^|\/)pause([:@]|$)/.test(image);
}

/** A script of statements one after another; undefined if any of them is not known. */
function scriptExit(script: string): ContainerExit | undefined {
  let afterMs = 0;
  let code = 0;
  for (const [, statement = "", separator = ""] of script.matchAll(/([^;&|\n]*)(&&|[;&|\n]+|$)/g)) {
    if (separator !== "&&" && /[&|]/.test(separator)) return undefined;
    const words = statement.split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) continue;
    if (words[0] === "exit") {
      const exit = /^\d{1,3}$/.test(words[1] ?? String(code))
        ? Number(words[1] ?? code)
        : undefined;
      return exit === undefined ? undefined : { afterMs, code: exit & 255 };
    }
    const exit = programExit(words);
    if (exit === undefined) return undefined;
    afterMs += exit.afterMs;
    code = exit.code;
    if (code !== 0 && separator === "&&") break;
  }
  return { afterMs, code };
}

function programExit([program = "", ...words]: readonly string[]): ContainerExit | undefined {
  switch (program.replace(/^\/(usr\/)?bin\//, "")) {
    case "sleep":
      return sleepExit(words);
    case "true":
    case "echo":
    case ":":
      return { afterMs: 0, code: 0 };
    case "false":
      return { afterMs: 0, code: 1 };
    default:
      return undefined;
  }
}

const units: Readonly<Record<string, number>> = {
  "": 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `sleep` adds its operands up; a wrong one is an error of usage. */
function sleepExit(operands: readonly string[]): ContainerExit {
  let afterMs = 0;
  for (const operand of operands) {
    const [, amount, unit = ""] =
      /^(\d+(?:\.\d*)?|\.\d+|inf|infinity)([smhd]?)$/.exec(operand) ?? [];
    if (amount === undefined) return { afterMs: 0, code: 1 };
    afterMs += amount.startsWith("inf") ? Infinity : Number(amount) * units[unit]!;
  }
  return { afterMs, code: operands.length === 0 ? 1 : 0 };
}
