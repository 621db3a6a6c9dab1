/** Programs of simulated containers. */
import { posix } from "node:path";
import { ArithmeticFault, evaluate } from "./arithmetic.ts";
import { type ContainerFiles, FileFault } from "./container-files.ts";
import { NotSimulated } from "./not-simulated.ts";
import { tarEnd, tarOf } from "./tar.ts";

export interface ProgramContext {
  readonly files: ContainerFiles;
  /** Host name. */
  readonly host: string;
  readonly variables: ReadonlyMap<string, string>;
  /** Standard input. */
  readonly input: Uint8Array;
  /** Wall clock in ms. */
  readonly now: number;
}

export interface ProgramResult {
  readonly stdout: string | Uint8Array;
  readonly stderr: string;
  readonly exitCode: number;
}

type Program = (words: readonly string[], context: ProgramContext) => ProgramResult;

const done = (stdout: string | Uint8Array = "", exitCode = 0): ProgramResult => {
  return { stdout, stderr: "", exitCode };
};
const failed = (stderr: string, exitCode = 1): ProgramResult => ({ stdout: "", stderr, exitCode });

/** Maximum count of `seq`. */
const maxSequence = 10_000;
/** Maximum bytes that a program reads. */
const maxReadBytes = 16 << 20;

const missing = (program: string, path: string) =>
  failed(`${program}: ${path}: No such file or directory\n`);
const operandsOf = (words: readonly string[]) => words.filter((word) => !word.startsWith("-"));

/**
 * Programs by name.
 * @throws NotSimulated for unsupported options, FileFault
 */
export const programs: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["echo", runEcho],
  ["printf", runPrintf],
  [
    "env",
    (words, { variables }) => (words.length > 0 ? unknownOption("env") : done(listed(variables))),
  ],
  ["printenv", runPrintenv],
  ["expr", runExpr],
  ["seq", runSequence],
  ["date", runDate],
  ["wc", runCount],
  ["head", (words, context) => runEnd(words, context, "head")],
  ["tail", (words, context) => runEnd(words, context, "tail")],
  ["true", () => done()],
  [":", () => done()],
  ["false", () => done("", 1)],
  ["pwd", () => done("/\n")],
  [
    "id",
    ([option]) => done(option === "-u" || option === "-g" ? "0\n" : "uid=0(root) gid=0(root)\n"),
  ],
  ["whoami", () => done("root\n")],
  ["hostname", (_words, { host }) => done(`${host}\n`)],
  ["test", runTest],
  ["[", (words, context) => runBracketed(words, "]", context)],
  ["[[", (words, context) => runBracketed(words, "]]", context)],
  ["cat", runCat],
  ["ls", runList],
  ["tar", runTar],
  [
    "mkdir",
    (words, { files }) => {
      for (const path of operandsOf(words)) files.makeFolder(path);
      return done();
    },
  ],
  [
    "touch",
    (words, { files }) => {
      for (const path of operandsOf(words)) {
        files.writeFile(path, files.get(path)?.data ?? Buffer.alloc(0));
      }
      return done();
    },
  ],
  [
    "rm",
    (words, { files }) => {
      const absent = operandsOf(words).find((path) => files.get(path) === undefined);
      if (absent !== undefined && !words.some((word) => /^-\w*f/.test(word)))
        return missing("rm", absent);
      for (const path of operandsOf(words)) files.remove(path);
      return done();
    },
  ],
]);

function runBracketed(
  words: readonly string[],
  end: string,
  context: ProgramContext,
): ProgramResult {
  if (words.at(-1) !== end) throw new NotSimulated(`a condition without ${end}`);
  return runTest(words.slice(0, -1), context);
}

/** Evaluates one condition on a file, a string, or two strings or numbers. */
function runTest(words: readonly string[], { files }: ProgramContext): ProgramResult {
  const verdict = (holds: boolean) => done("", holds ? 0 : 1);
  const [first = "", second = "", third = "", ...more] = words;
  if (first === "!")
    return verdict(runTest(words.slice(1), { files } as ProgramContext).exitCode !== 0);
  if (more.length > 0) throw new NotSimulated("test with several conditions");
  if (words.length === 3) return compare(first, second, third);
  if (words.length < 2) return verdict(first !== "");
  const entry = files.get(second);
  const conditions: Readonly<Record<string, boolean>> = {
    "-d": entry?.kind === "directory",
    "-f": entry?.kind === "file",
    "-e": entry !== undefined,
    "-r": entry !== undefined,
    "-w": entry !== undefined,
    "-s": (entry?.data.length ?? 0) > 0,
    "-n": second !== "",
    "-z": second === "",
  };
  const holds = conditions[first];
  if (holds === undefined) throw new NotSimulated(`test ${first}`);
  return verdict(holds);
}

function compare(left: string, operator: string, right: string): ProgramResult {
  if (operator === "=" || operator === "==") return done("", left === right ? 0 : 1);
  if (operator === "!=") return done("", left === right ? 1 : 0);
  const sign = comparisons[operator];
  if (sign === undefined) throw new NotSimulated(`test with ${operator}`);
  const wrong = [left, right].find((each) => !/^-?\d+$/.test(each.trim()));
  if (wrong !== undefined) return failed(`sh: ${wrong}: bad number\n`, 2);
  return done("", evaluate(`${left} ${sign} ${right}`, () => "") === 0 ? 1 : 0);
}

const comparisons: Readonly<Record<string, string>> = {
  "-eq": "==",
  "-ne": "!=",
  "-lt": "<",
  "-le": "<=",
  "-gt": ">",
  "-ge": ">=",
};

function unknownOption(program: string): never {
  throw new NotSimulated(`options of ${program}`);
}

function listed(variables: ReadonlyMap<string, string>): string {
  return [...variables].map(([name, value]) => `${name}=${value}\n`).join("");
}

function runPrintenv(words: readonly string[], { variables }: ProgramContext): ProgramResult {
  if (words.length === 0) return done(listed(variables));
  const values = words.map((name) => variables.get(name));
  const found = values.filter((value) => value !== undefined).map((value) => `${value}\n`);
  return done(found.join(""), found.length === values.length ? 0 : 1);
}

function runEcho(words: readonly string[]): ProgramResult {
  let [isLine, isEscaped, at] = [true, false, 0];
  for (; /^-[neE]+$/.test(words[at] ?? ""); at++) {
    if (words[at]!.includes("n")) isLine = false;
    if (words[at]!.includes("e")) isEscaped = true;
  }
  const text = words.slice(at).join(" ");
  return done((isEscaped ? unescaped(text) : text) + (isLine ? "\n" : ""));
}

function unescaped(text: string): string {
  const signs: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
  return text.replace(/\\([ntr\\])/g, (_all, sign: string) => signs[sign]!);
}

/** Formats `%s`, `%d` and `%%`; the format is reused until no arguments are left. */
function runPrintf([format = "", ...words]: readonly string[]): ProgramResult {
  let text = "";
  let at = 0;
  do {
    const from = at;
    text += unescaped(format).replace(/%(.)/g, (_all, sign: string) => {
      if (sign === "%") return "%";
      if (sign !== "s" && sign !== "d") throw new NotSimulated(`%${sign}`);
      const word = words[at++] ?? "";
      return sign === "d" && word === "" ? "0" : word;
    });
    if (at === from) break;
  } while (at < words.length);
  return done(text);
}

/** Arithmetic and comparison of integers; prints the value, and fails if it is 0. */
function runExpr(words: readonly string[]): ProgramResult {
  const expression = words.map((word) => (word === "=" ? "==" : word)).join(" ");
  if (!/^[-+*/%()<>=!\d\s]*$/.test(expression)) throw new NotSimulated("expr of texts");
  try {
    const value = evaluate(expression, () => "");
    return done(`${value}\n`, value === 0 ? 1 : 0);
  } catch (error) {
    if (!(error instanceof ArithmeticFault)) throw error;
    return failed(`expr: ${error.message}\n`, 2);
  }
}

function runSequence(words: readonly string[]): ProgramResult {
  const numbers = words.map(Number);
  if (
    numbers.length === 0 ||
    numbers.length > 3 ||
    numbers.some((each) => !Number.isInteger(each))
  ) {
    unknownOption("seq");
  }
  const [first, last] = numbers.length === 1 ? [1, numbers[0]!] : [numbers[0]!, numbers.at(-1)!];
  const step = numbers.length === 3 ? numbers[1]! : 1;
  if (step === 0) return failed("seq: invalid increment\n");
  const count = Math.max(0, Math.floor((last - first) / step) + 1);
  if (count > maxSequence) throw new NotSimulated("a long sequence");
  return done(Array.from({ length: count }, (_, at) => `${first + at * step}\n`).join(""));
}

function runDate(words: readonly string[], { now }: ProgramContext): ProgramResult {
  const date = new Date(now);
  const [format, ...more] = words.filter((word) => word !== "-u" && word !== "--utc");
  const [, day, year, time] = /^(\w+, \d+ \w+) (\d+) (\S+)/.exec(date.toUTCString()) ?? [];
  const [weekday = "", number = "", month = ""] = (day ?? "").split(/,? /);
  if (format === undefined) {
    return done(`${weekday} ${month} ${number.replace(/^0/, " ")} ${time} UTC ${year}\n`);
  }
  const iso = date.toISOString();
  const parts: Readonly<Record<string, string>> = {
    s: String(Math.floor(now / 1000)),
    Y: iso.slice(0, 4),
    m: iso.slice(5, 7),
    d: iso.slice(8, 10),
    H: iso.slice(11, 13),
    M: iso.slice(14, 16),
    S: iso.slice(17, 19),
    F: iso.slice(0, 10),
    T: iso.slice(11, 19),
    Z: "UTC",
    "%": "%",
  };
  if (!format.startsWith("+") || more.length > 0) unknownOption("date");
  const text = format
    .slice(1)
    .replace(/%(.)/g, (_all, sign: string) => parts[sign] ?? unknownOption("date"));
  return done(`${text}\n`);
}

/** Input of a program: its files one after another, or standard input. */
function readAll(
  program: string,
  paths: readonly string[],
  { files, input }: ProgramContext,
): Uint8Array | ProgramResult {
  const parts: Uint8Array[] = [];
  let size = 0;
  for (const path of paths) {
    const entry = files.get(path);
    if (entry === undefined) return missing(program, path);
    if (entry.kind === "directory") return failed(`${program}: ${path}: Is a directory\n`);
    size += entry.data.length;
    if (size > maxReadBytes) throw new FileFault("Cannot allocate memory");
    parts.push(entry.data);
  }
  return paths.length === 0 ? input : Buffer.concat(parts);
}

function runCount(words: readonly string[], context: ProgramContext): ProgramResult {
  const [option = "", ...paths] = words;
  if (option !== "-l" && option !== "-c") unknownOption("wc");
  const read = readAll("wc", paths, context);
  if (!(read instanceof Uint8Array)) return read;
  const count = option === "-c" ? read.length : read.filter((byte) => byte === 10).length;
  return done(`${[count, ...paths].join(" ")}\n`);
}

/** Prints the first or last lines (10, or `-n N`), or everything from a byte: `tail -c+N`. */
function runEnd(
  words: readonly string[],
  context: ProgramContext,
  program: "head" | "tail",
): ProgramResult {
  const [, from] = /^-c\s*\+(\d+)$/.exec(words.slice(0, words[0] === "-c" ? 2 : 1).join("")) ?? [];
  const [, count] =
    /^-(?:n\s*)?(\d+)$/.exec(words.slice(0, words[0] === "-n" ? 2 : 1).join("")) ?? [];
  const isLong = words[0] === "-n" || words[0] === "-c";
  const hasOption = words[0]?.startsWith("-") === true;
  if (hasOption && count === undefined && (from === undefined || program === "head"))
    unknownOption(program);
  const read = readAll(program, words.slice(Number(hasOption) + Number(isLong)), context);
  if (!(read instanceof Uint8Array)) return read;
  if (from !== undefined) return done(read.subarray(Math.max(0, Number(from) - 1)));
  const lines = Buffer.from(read)
    .toString()
    .split(/(?<=\n)/);
  const wanted = Number(count ?? 10);
  const kept =
    program === "head" ? lines.slice(0, wanted) : lines.slice(Math.max(0, lines.length - wanted));
  return done(kept.join(""));
}

function runCat(words: readonly string[], context: ProgramContext): ProgramResult {
  const read = readAll("cat", operandsOf(words), context);
  return read instanceof Uint8Array ? done(read) : read;
}

function runList(words: readonly string[], { files }: ProgramContext): ProgramResult {
  const [path = "/"] = operandsOf(words);
  const entry = files.get(path);
  if (entry === undefined) return missing("ls", path);
  const names = entry.kind === "directory" ? files.names(path) : [path];
  return done(names.map((name) => `${name}\n`).join(""));
}

/** `tar c`: extraction reads standard input, which the shell passes on. */
function runTar(words: readonly string[], { files }: ProgramContext): ProgramResult {
  const [options = "", ...rest] = words;
  if (!/^-?\w*c/.test(options)) return failed("tar: only cf - and xf - are simulated\n");
  const at = rest.indexOf("-C");
  const folder = at < 0 ? "/" : (rest[at + 1] ?? "/");
  const paths = rest.filter(
    (word, index) => word !== "-" && (at < 0 || (index !== at && index !== at + 1)),
  );
  const parts: Uint8Array[] = [];
  let stderr = "";
  let exitCode = 0;
  for (const path of paths) {
    const full = posix.resolve(folder, path);
    if (files.get(full) === undefined) {
      stderr += `tar: ${path}: Cannot stat: No such file or directory\n`;
      exitCode = 2;
      continue;
    }
    if (path.startsWith("/")) stderr += "tar: Removing leading `/' from member names\n";
    parts.push(tarOf(files, full, path.replace(/^\/+/, "")));
  }
  if (exitCode !== 0) stderr += "tar: Exiting with failure status due to previous errors\n";
  return { stdout: Buffer.concat([...parts, tarEnd]), stderr, exitCode };
}
