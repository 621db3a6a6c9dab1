import { type DescribedCommand, flagsOf } from "./completion.ts";
import { topics } from "./topics.ts";
import { keelsonVersion } from "./version-flag.ts";

/** The man page `keelson(1)`, as troff source. */
export function manPage(commands: readonly DescribedCommand[]): string {
  const list = commands.flatMap(({ name, summary }) => [".TP", `.B ${name}`, text(summary)]);
  const sections = commands.flatMap((command) => [
    `.SH ${command.name.toUpperCase()}`,
    text(command.description),
    ...flagsOf(command).flatMap(([name, { type, help, values }]) => [
      ".TP",
      type === "bool" ? `.B ${text(`--${name}`)}` : `.BI ${text(`--${name}=`)} ${type}`,
      text(values === undefined ? help : `${help}; one of ${values.filter(Boolean).join(", ")}`),
    ]),
  ]);
  const described = Object.entries(topics).flatMap(([name, topic]) => [
    `.SH ABOUT ${name.toUpperCase()}`,
    text(topic),
  ]);
  return [
    `.TH KEELSON 1 "" "keelson ${keelsonVersion}"`,
    ".SH NAME",
    text("keelson - the Kubernetes API in one process, or as replicas over etcd"),
    ".SH SYNOPSIS",
    ".B keelson",
    text("[command] [flags]"),
    ".SH COMMANDS",
    ...list,
    ...sections,
    ...described,
    "",
  ].join("\n");
}

/** Escapes text for troff, including a period or quote at the start of a line. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return escaped.replaceAll(/^(?=[.'])/gm, "\\&");
}
