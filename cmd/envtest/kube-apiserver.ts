import { UsageError } from "../flags/parse.ts";
import { askStore, type EnvtestStore } from "./store.ts";

/** Environment variables that configure an envtest environment. */
export interface EnvtestVariables {
  readonly KEELSON_ENVTEST_CONTROLLERS?: string | undefined;
  readonly KEELSON_ENVTEST_NODES?: string | undefined;
}

export interface ServerCommand {
  readonly command: "apiserver" | "start";
  readonly words: readonly string[];
}

/**
 * Returns the Keelson command for the flags that envtest passes to kube-apiserver. Flags are passed
 * on unchanged, except for those of the store: if `--etcd-servers` names the stand-in for etcd, the
 * store is the one that the stand-in reports.
 * @throws UsageError
 */
export async function serverCommand(
  words: readonly string[],
  variables: EnvtestVariables,
): Promise<ServerCommand> {
  const { values, rest } = takeFlag(words, "etcd-servers");
  const [endpoint, ...others] = values.flatMap((value) => value.split(","));
  const store = endpoint === undefined || others.length > 0 ? undefined : await askStore(endpoint);
  const stored =
    store === undefined
      ? [...words, "--storage-backend=etcd3"]
      : [...takeFlag(rest, "storage-backend").rest, ...storeWords(store)];
  const local = localWords(variables);
  if (local === undefined) return { command: "apiserver", words: stored };
  return { command: "start", words: [...stored, ...local] };
}

function storeWords(store: EnvtestStore): readonly string[] {
  if (store.kind === "memory") return ["--storage-backend=memory"];
  return ["--storage-backend=embedded", `--data-dir=${store.directory}`];
}

/** Flags of controllers and simulated nodes; undefined if there are none, as in envtest. */
function localWords(variables: EnvtestVariables): readonly string[] | undefined {
  const { KEELSON_ENVTEST_CONTROLLERS: controllers, KEELSON_ENVTEST_NODES: nodes } = variables;
  if (nodes && !/^\d{1,5}$/.test(nodes)) {
    throw new UsageError(`KEELSON_ENVTEST_NODES: ${JSON.stringify(nodes)} must be a number`);
  }
  const count = Number(nodes || 0);
  if (controllers !== "true" && count === 0) return undefined;
  return [`--nodes=${count}`, `--scheduler=${count > 0}`];
}

/** Values of `--name=value` and `--name value` in `words`, and the remaining words. */
function takeFlag(
  words: readonly string[],
  name: string,
): { readonly values: readonly string[]; readonly rest: readonly string[] } {
  const values: string[] = [];
  const rest: string[] = [];
  const inline = `--${name}=`;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (word.startsWith(inline)) values.push(word.slice(inline.length));
    else if (word === `--${name}`) values.push(words[++at] ?? "");
    else rest.push(word);
  }
  return { values: values.filter(Boolean), rest };
}
