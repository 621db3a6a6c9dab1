import { readFile } from "node:fs/promises";
import { isJsonObject, printJson } from "#base";
import { listedObjects, objectsInText } from "../files/object-documents.ts";

/** An object with its kind. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly [member: string]: unknown;
  };
  readonly [member: string]: any;
}

/**
 * One object or a List, the path or URL of a file, or the text of YAML documents or JSON. A
 * one-line string that ends in .yaml, .yml or .json is a path.
 */
export type Fixture = string | URL | object;

const fileName = /^[^\n]*\.(?:yaml|yml|json)$/;

/**
 * Returns the objects of a fixture in their order.
 * @throws TypeError for a document that is not a Kubernetes object
 */
export async function objectsOf(fixture: Fixture): Promise<readonly KubernetesObject[]> {
  const isFile = fixture instanceof URL || (typeof fixture === "string" && fileName.test(fixture));
  const content = isFile ? await readFile(fixture, "utf8") : fixture;
  const objects = typeof content === "string" ? objectsInText(content) : listedObjects(content);
  return objects.map(checkObject);
}

/** @throws TypeError for a value without apiVersion, kind and metadata.name */
export function checkObject(value: unknown): KubernetesObject {
  const object = (isJsonObject(value) ? value : {}) as Partial<KubernetesObject>;
  const { apiVersion, kind, metadata } = object;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if ([apiVersion, kind, name].every((text) => typeof text === "string" && text !== "")) {
    return object as KubernetesObject;
  }
  const text = printJson(value).slice(0, 200);
  throw new TypeError(`an object needs apiVersion, kind and metadata.name: ${text}`);
}
