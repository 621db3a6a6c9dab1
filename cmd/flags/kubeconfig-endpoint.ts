import { readFileSync } from "node:fs";
import { type Endpoint, KubeconfigFault, parseKubeconfig } from "#request";
import { UsageError } from "./parse.ts";

/**
 * The API server that the kubeconfig of `--kubeconfig`, or of another flag, names, at the URL of
 * `--master` unless that is "".
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

/** A UsageError that names the file which a flag needs and which cannot be read; other errors as they are. */
export function fileFault(flagName: string, error: unknown): unknown {
  const { code, path = "" } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new UsageError(`--${flagName}: ${path} cannot be read (${code})`);
}
