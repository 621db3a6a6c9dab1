import type { Flag, Flags } from "./parse.ts";

/** Flags under one heading of `--help`. */
export interface FlagGroup {
  readonly heading: string;
  readonly flags: Flags;
}

export interface CommandHelp {
  /** Description of the command, one paragraph. */
  readonly description: string;
  /** Usage line, such as `keelson apiserver [flags]`. */
  readonly usage: string;
  readonly groups: readonly FlagGroup[];
}

const indent = " ".repeat(6);
const helpColumn = 44;
const narrowestHelp = 40;

/** The text of `--help`, wrapped at `columns`. Flags are listed by name within their group. */
export function helpText({ description, usage, groups }: CommandHelp, columns: number): string {
  const sections = groups.map(({ heading, flags }) => {
    const names = Object.keys(flags).sort();
    const lines = names.flatMap((name) => flagLines(name, flags[name] as Flag, columns));
    return `${heading} flags:\n\n${lines.join("\n")}`;
  });
  return [
    wrap(description, columns).join("\n"),
    `Usage:\n  ${usage}`,
    ...sections,
    `Global flags:\n\n  -h, --help${" ".repeat(helpColumn - "  -h, --help".length)}show this text`,
  ].join("\n\n");
}

function flagLines(name: string, declared: Flag, columns: number): readonly string[] {
  const shorthand = name.length === 1 ? `  -${name}, ` : indent;
  const type = typeNames[declared.type];
  const left = `${shorthand}--${name}${type === "" ? "" : ` ${type}`}`;
  const help = `${declared.help}${defaultText(declared)}`;
  const lines = wrap(help, Math.max(columns - helpColumn, narrowestHelp));
  const pad = " ".repeat(helpColumn);
  const fits = left.length < helpColumn - 1;
  const [first = "", ...rest] = lines;
  return fits
    ? [`${left.padEnd(helpColumn)}${first}`, ...rest.map((line) => `${pad}${line}`)]
    : [left, ...lines.map((line) => `${pad}${line}`)];
}

/** Type names as pflag prints them. */
const typeNames: Readonly<Record<Flag["type"], string>> = {
  string: "string",
  ip: "ip",
  bool: "",
  int: "int",
  float: "float",
  duration: "duration",
  list: "strings",
  pairs: "key=value,...",
};

/** ` (default 1h0m0s)`; "" for zero values, as in pflag. */
function defaultText({ type, default: value, values }: Flag): string {
  const allowed = values === undefined ? "" : `; one of ${values.join(", ")}`;
  const isEmptyObject = typeof value === "object" && [...value].length === 0;
  if (value === "" || value === 0 || value === false || isEmptyObject) return allowed;
  return `${allowed} (default ${shownValue(type, value)})`;
}

function shownValue(type: Flag["type"], value: Flag["default"]): string {
  if (type === "duration") return durationText(value as number);
  if (type === "string") return JSON.stringify(value);
  if (typeof value === "object") return `[${[...value].join(",")}]`;
  return String(value);
}

/** Milliseconds as Go prints them: `1h0m0s`, `1m30s`, `250ms`, `0s`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = `${(ms % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
