/** The few programs that simulated containers have; others answer that they are simulated. */
import { posix } from "node:path";
import type { Pod } from "#kinds";
import { type ContainerFiles, FileFault } from "./container-files.ts";
import { tarEnd, tarOf } from "./tar.ts";

export interface ShellContext {
  readonly pod: Pod;
  readonly container: string;
  readonly files: ContainerFiles;
}

export interface ProgramResult {
  readonly stdout: string | Uint8Array;
  readonly stderr: string;
  readonly exitCode: number;
}

type Program = (words: readonly string[], context: ShellContext) => ProgramResult;

const done = (stdout: string | Uint8Array = "", exitCode = 0): ProgramResult => {
  return { stdout, stderr: "", exitCode };
};
const failed = (stderr: string, exitCode = 1): ProgramResult => ({ stdout: "", stderr, exitCode });

/** Longest script that is taken apart. */
const longestScript = 8_192;

export function isShell(program: string | undefined): boolean {
  return /(^|\/)(ba|a|z|da)?sh$/.test(program ?? "");
}

/** Runs one program to its end. */
export function runProgram(context: ShellContext, command: readonly string[]): ProgramResult {
  const [program = "", ...words] = command;
  const option = words.findIndex((word) => /^-[a-z]*c$/.test(word));
  if (isShell(program) && option >= 0) return runScript(context, words[option + 1] ?? "");
  const known = programs.get(posix.basename(program));
  if (known === undefined) {
    const { name } = context.pod.metadata;
    return done(`simulated container ${context.container} of pod ${name}: ${command.join(" ")}\n`);
  }
  try {
    return known(words, context);
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    return failed(`${program}: ${error.message}\n`);
  }
}

/** Runs statements with `;` or `&&` between them, each with `>` or `>>` at its end, or `| tail -c+N`. */
export function runScript(context: ShellContext, script: string): ProgramResult {
  const outputs: Uint8Array[] = [];
  let stderr = "";
  let exitCode = 0;
  let isSkipped = false;
  for (const [, text = "", separator = ""] of script
    .slice(0, longestScript)
    .matchAll(/((?:'[^']*'|"[^"]*"|&(?!&)|[^;&\n])*)(;|&&|\n|$)/g)) {
    const statement = text.trim();
    if (statement !== "" && !isSkipped) {
      const [, code] = /^exit(?:\s+(\d+))?$/.exec(statement) ?? [];
      if (/^exit\b/.test(statement)) {
        return { stdout: Buffer.concat(outputs), stderr, exitCode: Number(code ?? exitCode) & 255 };
      }
      const result = runStatement(context, statement);
      outputs.push(Buffer.from(result.stdout));
      stderr += result.stderr;
      exitCode = result.exitCode;
    }
    isSkipped = separator === "&&" && exitCode !== 0;
  }
  return { stdout: Buffer.concat(outputs), stderr, exitCode };
}

function runStatement(context: ShellContext, statement: string): ProgramResult {
  const [, command = statement, from] = /^(.*)\|\s*tail -c\+(\d+)$/s.exec(statement) ?? [];
  const [, before = command, arrows, path] = /^(.*?)(>>?)\s*(\S+)$/s.exec(command) ?? [];
  const result = runProgram(context, wordsOf(before));
  const stdout = Buffer.from(result.stdout);
  if (from !== undefined)
    return { ...result, stdout: stdout.subarray(Math.max(0, Number(from) - 1)) };
  if (path === undefined) return result;
  const old = arrows === ">>" ? context.files.get(path)?.data : undefined;
  try {
    if (path !== "/dev/null")
      context.files.writeFile(path, Buffer.concat([old ?? Buffer.alloc(0), stdout]));
    return { ...result, stdout: "" };
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    return failed(`sh: can't create ${path}: ${error.message}\n`);
  }
}

function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(
      /'([^']*)'|"([^"]*)"/g,
      (_all, single?: string, double?: string) => single ?? double ?? "",
    ),
  );
}

const missing = (program: string, path: string) =>
  failed(`${program}: ${path}: No such file or directory\n`);
const operandsOf = (words: readonly string[]) => words.filter((word) => !word.startsWith("-"));

const programs: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["echo", (words) => done(words[0] === "-n" ? words.slice(1).join(" ") : `${words.join(" ")}\n`)],
  ["printf", ([format = ""]) => done(format.replaceAll("\\n", "\n"))],
  ["true", () => done()],
  [":", () => done()],
  ["false", () => done("", 1)],
  ["pwd", () => done("/\n")],
  ["id", () => done("uid=0(root) gid=0(root)\n")],
  ["whoami", () => done("root\n")],
  ["hostname", (_words, { pod }) => done(`${pod.spec?.hostname ?? pod.metadata.name}\n`)],
  ["test", runTest],
  ["[", (words, context) => runTest(words.slice(0, -1), context)],
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

/** `-d`, `-f`, `-e`, `-s`, `-r` and comparison of texts. */
function runTest(words: readonly string[], { files }: ShellContext): ProgramResult {
  const [first = "", second = "", third = ""] = words;
  if (second === "=" || second === "==") return done("", first === third ? 0 : 1);
  if (second === "!=") return done("", first === third ? 1 : 0);
  const entry = files.get(second);
  const holds: Readonly<Record<string, boolean>> = {
    "-d": entry?.kind === "directory",
    "-f": entry?.kind === "file",
    "-e": entry !== undefined,
    "-r": entry !== undefined,
    "-s": (entry?.data.length ?? 0) > 0,
    "-n": second !== "",
    "-z": second === "",
  };
  return done("", holds[first] === true ? 0 : 1);
}

function runCat(words: readonly string[], { files }: ShellContext): ProgramResult {
  const parts: Uint8Array[] = [];
  for (const path of operandsOf(words)) {
    const entry = files.get(path);
    if (entry === undefined) return missing("cat", path);
    if (entry.kind === "directory") return failed(`cat: ${path}: Is a directory\n`);
    parts.push(entry.data);
  }
  return done(Buffer.concat(parts));
}

function runList(words: readonly string[], { files }: ShellContext): ProgramResult {
  const [path = "/"] = operandsOf(words);
  const entry = files.get(path);
  if (entry === undefined) return missing("ls", path);
  const names = entry.kind === "directory" ? files.names(path) : [path];
  return done(names.map((name) => `${name}\n`).join(""));
}

/** `tar c`: extraction reads standard input, which the shell passes on. */
function runTar(words: readonly string[], { files }: ShellContext): ProgramResult {
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
