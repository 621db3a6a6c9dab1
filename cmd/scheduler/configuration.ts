import { readFileSync } from "node:fs";
import { ConfigurationFault, type Domain } from "#meta";
import { parseSchedulerConfiguration, type SchedulerConfiguration } from "#scheduler";
import { fileFault } from "../flags/kubeconfig-endpoint.ts";
import { UsageError } from "../flags/parse.ts";

/**
 * Reads the KubeSchedulerConfiguration from the file that a flag names; undefined if the flag is
 * not set.
 * @throws UsageError
 */
export function readSchedulerConfiguration(
  flag: string,
  file: string,
  domain: Domain,
): SchedulerConfiguration | undefined {
  if (file === "") return undefined;
  try {
    return parseSchedulerConfiguration(readFileSync(file, "utf8"), domain);
  } catch (error) {
    if (error instanceof ConfigurationFault) throw new UsageError(`--${flag}: ${error.message}`);
    throw fileFault(flag, error);
  }
}
