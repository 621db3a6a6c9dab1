import { parseJsonText } from "#base";
import { annotationOf } from "../../annotations.ts";
import type { Pod } from "#kinds";

export interface ExecAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Maximum number of responses in an annotation. */
const maxResponses = 100;

/**
 * Response to a command by the pod's annotations: the first entry of `exec` (a JSON list) whose `command`
 * equals it or is a prefix, else `exec-output` and `exec-exit-code`, which apply to every command.
 */
export function execResponse(pod: Pod, command: readonly string[]): ExecAnswer | undefined {
  const line = command.join(" ");
  const listed = answersOf(annotationOf(pod, "exec")).find(({ command: begin }) => {
    return typeof begin === "string" && (line === begin || line.startsWith(`${begin} `));
  });
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  if (listed !== undefined) {
    const { stdout, stderr, exitCode } = listed;
    return { stdout: text(stdout), stderr: text(stderr), exitCode: codeOf(exitCode) };
  }
  const stdout = annotationOf(pod, "exec-output");
  const code = annotationOf(pod, "exec-exit-code");
  if (stdout === undefined && code === undefined) return undefined;
  return { stdout: stdout ?? "", stderr: "", exitCode: codeOf(code) };
}

function answersOf(annotation: string | undefined): readonly Readonly<Record<string, unknown>>[] {
  if (annotation === undefined) return [];
  try {
    const answers: unknown = parseJsonText(annotation);
    if (!Array.isArray(answers)) return [];
    return answers
      .slice(0, maxResponses)
      .filter((each) => typeof each === "object" && each !== null);
  } catch {
    return [];
  }
}

/** Exit code from 0 to 255; 0 if invalid. */
function codeOf(value: unknown): number {
  return /^\d{1,3}$/.test(String(value)) ? Math.min(Number(value), 255) : 0;
}
