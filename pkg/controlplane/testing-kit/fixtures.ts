import { readFile } from "node:fs/promises";
import { isJsonObject } from "#base";
import { parseYaml } from "#meta";

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
 * One object or a List; a path or URL of a file; or a text of YAML documents or JSON. A text in one
 * line that ends in .yaml, .yml or .json is a path.
 */
export type Fixture = string | URL | object;

const fileName = /^[^\n]*\.(?:yaml|yml|json)$/;

/**
 * The objects of a fixture in their order.
 * @throws TypeError for a document that is no object of Kubernetes
 */
export async function objectsOf(fixture: Fixture): Promise<readonly KubernetesObject[]> {
  if (fixture instanceof URL || (typeof fixture === "string" && fileName.test(fixture))) {
    return documentsOf(await readFile(fixture, "utf8"));
  }
  return typeof fixture === "string" ? documentsOf(fixture) : expanded(fixture);
}

/** Documents are separated by lines that begin with `---`; empty ones are skipped. */
function documentsOf(text: string): readonly KubernetesObject[] {
  return text
    .split(/^(?=---(?:\s|$))/m)
    .map((document) => parseYaml(document).value)
    .filter((value) => value !== null && value !== undefined)
    .flatMap(expanded);
}

function expanded(value: unknown): readonly KubernetesObject[] {
  if (isJsonObject(value) && value["kind"] === "List" && Array.isArray(value["items"])) {
    return value["items"].flatMap(expanded);
  }
  return [checkObject(value)];
}

/** @throws TypeError for a value without apiVersion, kind and metadata.name */
export function checkObject(value: unknown): KubernetesObject {
  const object = (isJsonObject(value) ? value : {}) as Partial<KubernetesObject>;
  const { apiVersion, kind, metadata } = object;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if ([apiVersion, kind, name].every((text) => typeof text === "string" && text !== "")) {
    return object as KubernetesObject;
  }
  const text = JSON.stringify(value)?.slice(0, 200);
  throw new TypeError(`an object needs apiVersion, kind and metadata.name: ${text}`);
}
