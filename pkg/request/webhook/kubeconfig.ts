import { isJsonObject, type JsonObject, type ServerTrust, trustServers } from "#base";
import { parseYaml, YamlFault } from "#meta";
import { withCleanPath } from "./clean-path.ts";

/** A kubeconfig that cannot be used, in one sentence. */
export class KubeconfigFault extends Error {
  override readonly name = "KubeconfigFault";
}

/** Where a kubeconfig leads, and who its user is there. Certificates and keys are PEM texts. */
export interface Endpoint {
  readonly url: URL;
  readonly tls: ServerTrust & {
    readonly cert?: string;
    readonly key?: string;
    /** Name that the certificate must be for; absent = the host of the URL. */
    readonly servername?: string;
    /** False = any certificate will do. */
    readonly rejectUnauthorized: boolean;
  };
  /** The value of the Authorization header; a token in a file may be renewed there. */
  readonly authorization: () => string | undefined;
}

/** Paths as the kubeconfig spells them; throws what the file system throws. */
type ReadFile = (path: string) => string;

/** Ways to identify oneself or to connect that would need a program or a proxy. */
const unsupported = {
  user: ["exec", "auth-provider"],
  cluster: ["proxy-url"],
} as const;

/**
 * The cluster and the user of the current context; the only one of either if there is no context.
 * @throws KubeconfigFault
 */
export function parseKubeconfig(text: string, readFile: ReadFile): Endpoint {
  const config = record(parsed(text), "the kubeconfig");
  const current = config["current-context"];
  const context = named(config, "contexts", current)?.["context"] ?? undefined;
  const names = context === undefined ? {} : record(context, "the current context");
  const cluster = partOf(config, "cluster", names["cluster"]);
  if (cluster === undefined) throw new KubeconfigFault("the kubeconfig names no cluster");
  const user = partOf(config, "user", names["user"]) ?? {};
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

/** A token goes before a password, and a token file before both, so that it can be renewed. */
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
  /** What `<key>-data` holds in base64, else the file that `<key>` names. */
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

function partOf(
  config: JsonObject,
  kind: "cluster" | "user",
  name: unknown,
): JsonObject | undefined {
  const found = named(config, `${kind}s`, name)?.[kind] ?? undefined;
  if (found === undefined) return undefined;
  const part = record(found, `the ${kind}`);
  const odd = unsupported[kind].find((key) => part[key] !== undefined);
  if (odd !== undefined) throw new KubeconfigFault(`${odd} is not supported`);
  return part;
}

/** Without a name the only entry is meant. */
function named(config: JsonObject, key: string, name: unknown): JsonObject | undefined {
  const list = config[key] ?? [];
  if (!Array.isArray(list)) throw new KubeconfigFault(`${key} must be a list`);
  const entries = list.map((entry) => record(entry, `an entry of ${key}`));
  if (text(name) === undefined) return entries.length === 1 ? entries[0] : undefined;
  const found = entries.find((entry) => entry["name"] === name);
  if (found === undefined) throw new KubeconfigFault(`${JSON.stringify(name)} is not in ${key}`);
  return found;
}

function record(value: unknown, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new KubeconfigFault(`${what} must be a map`);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
