import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { objectsInText } from "../files/object-documents.ts";
import type { RecordedObject } from "./recorded-object.ts";

/** An object that was read from a file. */
export interface ReadObject {
  /** Path of its file in the recording. */
  readonly file: string;
  readonly object: RecordedObject;
}

export interface Recording {
  readonly objects: readonly ReadObject[];
  /** Errors of files or documents that contain no object: `pods/web.yaml: yaml: line 3: …`. */
  readonly faults: readonly string[];
}

const extensions = /\.(?:ya?ml|json)$/;
/** Maximum size of a file in bytes; the server limits objects to far less. */
const maxBytes = 256 * 1024 * 1024;

/**
 * Reads the objects of all YAML and JSON files of a directory, recursively, in the order of paths.
 * A file may have several documents, and a document may be a List, as `kubectl get --output=yaml`
 * prints.
 *
 * @throws errors of the file system
 */
export async function readRecording(directory: string): Promise<Recording> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory() && extensions.test(entry.name))
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .sort();
  const objects: ReadObject[] = [];
  const faults: string[] = [];
  for (const file of files) {
    const bytes = await readFile(path.join(directory, file));
    try {
      if (bytes.length > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
      for (const value of objectsInText(bytes.toString("utf8"))) {
        objects.push({ file, object: asObject(value) });
      }
    } catch (error) {
      faults.push(`${file}: ${(error as Error).message}`);
    }
  }
  return { objects, faults };
}

function asObject(value: unknown): RecordedObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as RecordedObject;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new Error("an object has no apiVersion and kind");
  }
  if (typeof metadata !== "object" || metadata === null || typeof metadata["name"] !== "string") {
    throw new Error(`a ${kind} has no metadata.name`);
  }
  return value as RecordedObject;
}
