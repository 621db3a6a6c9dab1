import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ApiObject, DiscoveredResource } from "#client";
import { printYaml } from "#meta";
import { RecordError } from "./record-error.ts";
import { fileOf, recordedObject } from "./recorded-object.ts";
import { isOfServer, qualifiedName } from "./selection.ts";

/**
 * The directory of a recording: one file per object, replaced atomically. Methods write
 * synchronously, so that changes of an object are written in the order of their events.
 */
export class RecordingFolder {
  /** Resource and namespace of each file. */
  private readonly files = new Map<string, { resource: string; namespace: string }>();

  /** @throws RecordError if the directory is not empty, because recordings would be mixed */
  constructor(readonly directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (readdirSync(directory).length === 0) return;
    throw new RecordError(`${directory} is not empty; a recording needs an empty directory`);
  }

  get size(): number {
    return this.files.size;
  }

  /** Qualified names of the resources that have objects in the recording. */
  resources(): ReadonlySet<string> {
    return new Set([...this.files.values()].map(({ resource }) => resource));
  }

  /** Writes an object, unless every server creates it. */
  write(resource: DiscoveredResource, object: ApiObject): void {
    if (isOfServer(resource, object)) return;
    const file = path.join(this.directory, fileOf(resource, object));
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.part`;
    writeFileSync(draft, printYaml(recordedObject(resource, object)), { mode: 0o600 });
    renameSync(draft, file);
    const { namespace = "" } = object.metadata;
    this.files.set(file, { resource: qualifiedName(resource), namespace });
  }

  /** Replaces all objects of a resource in a namespace, or in all namespaces if it is "". */
  replace(resource: DiscoveredResource, namespace: string, objects: readonly ApiObject[]): void {
    const kept = new Set(objects.map((each) => path.join(this.directory, fileOf(resource, each))));
    for (const [file, held] of this.files) {
      if (held.resource !== qualifiedName(resource) || kept.has(file)) continue;
      if (namespace === "" || namespace === held.namespace) this.delete(file);
    }
    for (const object of objects) this.write(resource, object);
  }

  remove(resource: DiscoveredResource, object: ApiObject): void {
    this.delete(path.join(this.directory, fileOf(resource, object)));
  }

  private delete(file: string): void {
    rmSync(file, { force: true });
    this.files.delete(file);
  }
}
