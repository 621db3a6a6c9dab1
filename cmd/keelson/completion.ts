import type { CommandHelp } from "../flags/help.ts";
import type { Flag } from "../flags/parse.ts";

/** Description of a command for completion scripts and the man page. */
export interface DescribedCommand extends Pick<CommandHelp, "description" | "groups"> {
  readonly name: string;
  readonly summary: string;
}

export const shells = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof shells)[number];

/** Arguments of the commands without flags, by command, such as `bash` of `completion`. */
export type Arguments = Readonly<Record<string, readonly string[]>>;

/** Returns the script with which a shell completes commands, flags and values of flags. */
export function completionScript(
  shell: Shell,
  commands: readonly DescribedCommand[],
  words: Arguments,
): string {
  return { bash, zsh, fish }[shell](commands, words);
}

/** Flags by name, `--help` included. */
export function flagsOf({ groups }: DescribedCommand): readonly (readonly [string, Flag])[] {
  const help: Flag = { type: "bool", default: false, help: "show the flags of the command" };
  const declared = Object.fromEntries(groups.flatMap(({ flags }) => Object.entries(flags)));
  return Object.entries({ ...declared, help }).sort(([a], [b]) => (a < b ? -1 : 1));
}

function bash(commands: readonly DescribedCommand[], words: Arguments): string {
  const names = [...commands.map(({ name }) => name), ...Object.keys(words), "version"].join(" ");
  const cases = commands.flatMap((command) => {
    const flags = flagsOf(command).map(([name]) => `--${name}`);
    const valued = flagsOf(command).flatMap(([name, { type, values }]) => {
      const allowed = type === "bool" ? ["true", "false"] : (values ?? []);
      const list = allowed.filter((each) => each !== "").join(" ");
      return list === "" ? [] : [`        --${name}) values="${list}" ;;`];
    });
    return [
      `    ${command.name})`,
      `      flags="${flags.join(" ")}"`,
      '      case "$flag" in',
      ...valued,
      "      esac",
      "      ;;",
    ];
  });
  const others = Object.entries(words).map(
    ([name, list]) => `    ${name}) plain="${list.join(" ")}" ;;`,
  );
  return [
    "# bash completion of keelson; load it with: source <(keelson completion bash)",
    "_keelson() {",
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  local command="${COMP_WORDS[1]}" flag="" flags="" values="" plain=""',
    "  COMPREPLY=()",
    "  if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then",
    `    COMPREPLY=($(compgen -W "${names}" -- "$cur"))`,
    "    return",
    "  fi",
    "  [[ $command == -* ]] && command=start",
    "  # Bash splits words at equals signs.",
    '  if [[ $cur == = ]]; then flag="$prev"; cur=""',
    '  elif [[ $prev == = ]]; then flag="${COMP_WORDS[COMP_CWORD-2]}"',
    '  elif [[ $prev == --* && $cur != -* ]]; then flag="$prev"; fi',
    '  case "$command" in',
    ...cases,
    ...others,
    "  esac",
    '  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$cur"))',
    '  elif [[ -n $plain ]]; then COMPREPLY=($(compgen -W "$plain" -- "$cur"))',
    '  elif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))',
    '  else COMPREPLY=($(compgen -f -- "$cur")); fi',
    "}",
    "complete -o filenames -F _keelson keelson",
    "",
  ].join("\n");
}

function zsh(commands: readonly DescribedCommand[], words: Arguments): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.flatMap((command) => {
    const specs = flagsOf(command).map(([name, { type, values, help }]) => {
      const label = help.replaceAll(/[[\]:\\]/g, "\\$&");
      const value = values === undefined ? ":_files" : `:(${values.filter(Boolean).join(" ")})`;
      const spec = type === "bool" ? `--${name}[${label}]` : `--${name}=[${label}]:value${value}`;
      return `      ${quoted(spec)}`;
    });
    const all = [...specs, "      '*:file:_files'"].join(" \\\n");
    return [`    ${command.name}) _arguments \\`, all, "      ;;"];
  });
  const others = Object.entries(words).map(
    ([name, list]) => `    ${name}) compadd -- ${list.join(" ")} ;;`,
  );
  return [
    "#compdef keelson",
    "_keelson() {",
    "  local -a commands=(",
    ...described,
    ...[...Object.keys(words), "version"].map((name) => `    ${name}`),
    "  )",
    "  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then _describe command commands; return; fi",
    "  local command=${words[2]}",
    "  if [[ $command == -* ]]; then command=start; else shift words; (( CURRENT-- )); fi",
    "  case $command in",
    ...cases,
    ...others,
    "  esac",
    "}",
    "compdef _keelson keelson",
    "",
  ].join("\n");
}

function fish(commands: readonly DescribedCommand[], words: Arguments): string {
  const command = (name: string, summary: string) =>
    `complete -c keelson -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`;
  const lines = commands.flatMap((each) => [
    command(each.name, each.summary),
    ...flagsOf(each).map(([name, { type, values, help }]) => {
      const allowed = values?.filter(Boolean).join(" ");
      const value =
        type === "bool" ? "" : allowed === undefined ? " -r" : ` -x -a ${quoted(allowed)}`;
      const condition = `__fish_seen_subcommand_from ${each.name}`;
      return `complete -c keelson -n '${condition}' -l ${name}${value} -d ${quoted(help)}`;
    }),
  ]);
  const others = Object.entries(words).flatMap(([name, list]) => [
    command(name, name === "help" ? "show a command or a topic" : "print a completion script"),
    `complete -c keelson -f -n '__fish_seen_subcommand_from ${name}' -a ${quoted(list.join(" "))}`,
  ]);
  return ["# fish completion of keelson", ...lines, ...others, ""].join("\n");
}

/** Quotes with single quotes for POSIX shells; fish accepts `'\''` as well. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
