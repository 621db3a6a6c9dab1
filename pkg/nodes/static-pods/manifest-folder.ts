/** Manifests of static pods in the folder `--static-pod-path`. */
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { Pod } from "#kinds";
import { parseYaml } from "#meta";
import { apiReferenceOf } from "./api-references.ts";

/** Static pod of a manifest file. */
export interface Manifest {
  readonly file: string;
  /** Node of the pod; undefined = all nodes of the process. */
  readonly node: string | undefined;
  readonly pod: Pick<Pod, "metadata" | "spec">;
}

/** Maximum size of a manifest in bytes. */
const maxBytes = 1 << 20;
/** Maximum number of files per folder. */
const maxFiles = 1_000;
/** Maximum number of values in a YAML document, which limits alias expansion. */
const maxValues = 100_000;

/**
 * Reads the pods of a file, or of all files of a folder and its subfolders, which are named after nodes.
 * Skips dot files and invalid files.
 * @param refused called with the reason of each skipped file
 * @returns no pods if the path does not exist
 */
export async function readManifests(
  root: string,
  refused: (file: string, error: unknown) => void,
): Promise<readonly Manifest[]> {
  const found: Manifest[] = [];
  for (const { file, node } of await filesOf(root)) {
    try {
      found.push({ file, node, pod: await readManifest(file) });
    } catch (error) {
      if (!isMissing(error)) refused(file, error);
    }
  }
  return found;
}

interface ManifestFile {
  readonly file: string;
  readonly node: string | undefined;
}

async function filesOf(root: string): Promise<readonly ManifestFile[]> {
  const about = await stat(root).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (about === undefined) return [];
  if (!about.isDirectory()) return [{ file: root, node: undefined }];
  const { files, folders } = await entriesOf(root);
  const perNode = await Promise.all(folders.map(async (folder) => (await entriesOf(folder)).files));
  return [
    ...files.map((file) => ({ file, node: undefined })),
    ...folders.flatMap((folder, at) =>
      perNode[at]!.map((file) => ({ file, node: path.basename(folder) })),
    ),
  ].slice(0, maxFiles);
}

/** Sorted entries of a folder without dot files. */
async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true });
  const shown = entries
    .filter(({ name }) => !name.startsWith("."))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  const full = ({ name }: { readonly name: string }) => path.join(folder, name);
  return {
    files: shown.filter((each) => !each.isDirectory()).map(full),
    folders: shown.filter((each) => each.isDirectory()).map(full),
  };
}

/** @throws Error if the file is not a valid static pod */
async function readManifest(file: string): Promise<Manifest["pod"]> {
  const { size } = await stat(file);
  if (size > maxBytes) throw new Error(`manifest is larger than ${maxBytes} bytes`);
  const pod: any = parseYaml(await readFile(file, "utf8"), maxValues).value;
  if (pod?.apiVersion !== "v1" || pod.kind !== "Pod") throw new Error("manifest is not a v1 Pod");
  if (typeof pod.metadata?.name !== "string" || pod.metadata.name === "") {
    throw new Error("invalid pod: name is needed for the pod");
  }
  const reference = apiReferenceOf(pod.spec);
  if (reference !== undefined) throw new Error(`static pods may not reference ${reference}`);
  return pod;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
