import { readFileSync } from "node:fs";
import { type Endpoint, KubeconfigFault, parseKubeconfig } from "#request";
import { UsageError } from "./parse.ts";

/**
 * Returns the API server of the kubeconfig that `--kubeconfig`, or the flag `flagName`, names, at
 * the URL of `--master` unless that is "".
 * @throws UsageError
 */
export function kubeconfigEndpoint(
  file: string,
  { master = "", flagName = "kubeconfig" }: { master?: string; flagName?: string } = {},
): Endpoint {
  if (file === "") throw new UsageError(`--${flagName} must be set`);
  try {
    const read = (name: string) => readFileSync(name, "utf8");
    const endpoint = parseKubeconfig(read(file), read);
    const url = master === "" ? endpoint.url : new URL(master);
    if (url.protocol !== "https:") throw new UsageError(`${url.href} is no https URL`);
    return { ...endpoint, url };
  } catch (error) {
    if (!(error instanceof KubeconfigFault)) throw fileFault(flagName, error);
    throw new UsageError(`--${flagName}: ${error.message}`);
  }
}

/**
 * Converts a failure to read the file of a flag into a UsageError that names the file; returns
 * other errors unchanged.
 */
export function fileFault(flagName: string, error: unknown): unknown {
  const { code, path = "" } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new UsageError(`--${flagName}: ${path} cannot be read (${code})`);
}
