/** The folder `/var/log` of a node, which its kubelet serves at `/logs/` as Go's FileServer does. */
import { type Pod, statusesOf } from "#kinds";

/** A response to a request below `/logs/`. */
export type LogFolderResponse =
  | { readonly kind: "page"; readonly html: string }
  | { readonly kind: "file"; readonly text: string }
  | { readonly kind: "redirect"; readonly location: string };

/** Folders by name, and files as functions that return their text. */
interface Folder {
  readonly [name: string]: Folder | (() => string);
}

/** Log of a container with timestamps: `2030-01-01T00:00:00Z text` per line. */
export type ReadLog = (pod: Pod, container: string) => string;

/**
 * A listing or file; undefined = there is none.
 * @param path segments after `/logs/`; the last is "" for a folder
 */
export function logFolderResponse(
  pods: readonly Pod[],
  path: readonly string[],
  readLog: ReadLog,
): LogFolderResponse | undefined {
  let found: Folder[string] | undefined = nodeFolder(pods, readLog);
  for (const name of path.filter((segment) => segment !== "")) {
    if (typeof found === "function" || found === undefined || !Object.hasOwn(found, name)) {
      return undefined;
    }
    found = found[name];
  }
  const last = path.at(-1) ?? "";
  if (typeof found === "function") {
    // FileServer redirects a file with a slash to the file.
    if (last === "") return { kind: "redirect", location: `../${path.at(-2) ?? ""}` };
    return { kind: "file", text: found() };
  }
  if (found === undefined) return undefined;
  if (last !== "") return { kind: "redirect", location: `${last}/` };
  return { kind: "page", html: listing(found) };
}

function nodeFolder(pods: readonly Pod[], readLog: ReadLog): Folder {
  const podFolders: Record<string, Folder> = {};
  const containers: Record<string, () => string> = {};
  for (const pod of pods) {
    const { namespace = "", name, uid } = pod.metadata;
    const files: Record<string, Folder> = {};
    for (const { name: container, restartCount = 0, containerID = "" } of statusesOf(pod)) {
      const read = () => criLog(readLog(pod, container));
      const id = containerID.split("//")[1];
      if (id === undefined) continue;
      files[container] = { [`${restartCount}.log`]: read };
      containers[`${name}_${namespace}_${container}-${id}.log`] = read;
    }
    podFolders[`${namespace}_${name}_${uid}`] = files;
  }
  return { containers, pods: podFolders };
}

/** The format of container runtimes: time, stream, whether the line is complete, text. */
function criLog(log: string): string {
  return log.replace(/^(\S+) /gm, "$1 stdout F ");
}

function listing(folder: Folder): string {
  const links = Object.keys(folder)
    .toSorted()
    .map((name) => {
      const shown = escapeHtml(typeof folder[name] === "function" ? name : `${name}/`);
      return `<a href="${shown}">${shown}</a>\n`;
    });
  const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n';
  return `${head}<pre>\n${links.join("")}</pre>\n`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
