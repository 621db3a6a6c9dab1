import { isJsonObject, type JsonObject, type ServerTrust, trustServers, printJson } from "#base";
import { parseYaml, YamlFault } from "#meta";
import { withCleanPath } from "./clean-path.ts";

/** An invalid or unsupported kubeconfig. */
export class KubeconfigFault extends Error {
  override readonly name = "KubeconfigFault";
}

/** Server and credentials of a kubeconfig. Certificates and keys are PEM. */
export interface Endpoint {
  readonly url: URL;
  readonly tls: ServerTrust & {
    readonly cert?: string;
    readonly key?: string;
    /** Expected name in the serving certificate; absent = the host of the URL. */
    readonly servername?: string;
    /** False = skips the verification of the serving certificate. */
    readonly rejectUnauthorized: boolean;
  };
  /** Value of the Authorization header; called per request, as a token file may be renewed. */
  readonly authorization: () => string | undefined;
}

/** Reads a file by the path in the kubeconfig; errors are those of the file system. */
type ReadFile = (path: string) => string;

/** Unsupported fields, which would need a plugin or a proxy. */
const unsupported = {
  user: ["exec", "auth-provider"],
  cluster: ["proxy-url"],
} as const;

/**
 * Parses the cluster and user of the current context, or the only ones if there is no context.
 * @throws KubeconfigFault
 */
export function parseKubeconfig(text: string, readFile: ReadFile): Endpoint {
  const config = record(parsed(text), "the kubeconfig");
  const current = config["current-context"];
  const context = named(config, "contexts", current)?.["context"] ?? undefined;
  const names = context === undefined ? {} : record(context, "the current context");
  const cluster = entryOf(config, "cluster", names["cluster"]);
  if (cluster === undefined) throw new KubeconfigFault("the kubeconfig names no cluster");
  const user = entryOf(config, "user", names["user"]) ?? {};
  return endpointOf(cluster, user, pemReader(readFile));
}

function endpointOf(cluster: JsonObject, user: JsonObject, read: PemReader): Endpoint {
  const ca = read(cluster, "certificate-authority");
  const cert = read(user, "client-certificate");
  const key = read(user, "client-key");
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeconfigFault("a client certificate and its key must be given together");
  }
  const servername = text(cluster["tls-server-name"]);
  const insecure = cluster["insecure-skip-tls-verify"] === true;
  if (insecure && ca !== undefined) {
    throw new KubeconfigFault("certificate-authority contradicts insecure-skip-tls-verify");
  }
  return {
    url: urlOf(text(cluster["server"])),
    tls: {
      ...trustServers(ca),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      ...(servername === undefined ? {} : { servername }),
      rejectUnauthorized: !insecure,
    },
    authorization: authorizationOf(user, read.plain),
  };
}

function urlOf(server: string | undefined): URL {
  const url = URL.canParse(server ?? "") ? new URL(server!) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new KubeconfigFault(`server ${JSON.stringify(server ?? "")} is no http or https URL`);
  }
  return withCleanPath(url);
}

/** Precedence: tokenFile, which can be renewed, then token, then username and password. */
function authorizationOf(user: JsonObject, readFile: ReadFile): Endpoint["authorization"] {
  const file = text(user["tokenFile"]);
  if (file !== undefined) return () => `Bearer ${readFile(file).trim()}`;
  const token = text(user["token"]);
  if (token !== undefined) return () => `Bearer ${token}`;
  const name = text(user["username"]);
  if (name === undefined) return () => undefined;
  const password = text(user["password"]) ?? "";
  const value = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
  return () => value;
}

interface PemReader {
  /** The decoded value of `<key>-data`, else the contents of the file in `<key>`. */
  (fields: JsonObject, key: string): string | undefined;
  readonly plain: ReadFile;
}

function pemReader(readFile: ReadFile): PemReader {
  const plain: ReadFile = (path) => {
    try {
      return readFile(path);
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new KubeconfigFault(`${path} cannot be read (${reason})`);
    }
  };
  const read = (fields: JsonObject, key: string): string | undefined => {
    const data = text(fields[`${key}-data`]);
    if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
    const path = text(fields[key]);
    return path === undefined ? undefined : plain(path);
  };
  return Object.assign(read, { plain });
}

function parsed(source: string): unknown {
  try {
    return parseYaml(source).value;
  } catch (error) {
    if (error instanceof YamlFault) throw new KubeconfigFault(error.message);
    throw error;
  }
}

function entryOf(
  config: JsonObject,
  kind: "cluster" | "user",
  name: unknown,
): JsonObject | undefined {
  const found = named(config, `${kind}s`, name)?.[kind] ?? undefined;
  if (found === undefined) return undefined;
  const part = record(found, `the ${kind}`);
  const field = unsupported[kind].find((key) => part[key] !== undefined);
  if (field !== undefined) throw new KubeconfigFault(`${field} is not supported`);
  return part;
}

/** Finds an entry by name; without a name, the only entry. */
function named(config: JsonObject, key: string, name: unknown): JsonObject | undefined {
  const list = config[key] ?? [];
  if (!Array.isArray(list)) throw new KubeconfigFault(`${key} must be a list`);
  const entries = list.map((entry) => record(entry, `an entry of ${key}`));
  if (text(name) === undefined) return entries.length === 1 ? entries[0] : undefined;
  const found = entries.find((entry) => entry["name"] === name);
  if (found === undefined) throw new KubeconfigFault(`${printJson(name)} is not in ${key}`);
  return found;
}

function record(value: unknown, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new KubeconfigFault(`${what} must be a map`);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
