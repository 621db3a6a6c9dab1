import { readFileSync } from "node:fs";
import { UsageError } from "./parse.ts";

/**
 * Reads the text of the file that a flag names.
 * @throws UsageError if the file cannot be read
 */
export function readNamed(file: string, flagName: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UsageError(`--${flagName}: ${file} cannot be read (${reason})`);
  }
}
