import { readFileSync } from "node:fs";
import { UsageError } from "./parse.ts";

/**
 * The text of the file that a flag names.
 * @throws UsageError
 */
export function readNamed(file: string, flagName: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UsageError(`--${flagName}: ${file} cannot be read (${reason})`);
  }
}
