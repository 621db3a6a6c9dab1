/** Encodes discovery documents as JSON, YAML or Protobuf. */
import { apiGroup, apiGroupDiscoveryList, apiGroupList, apiResourceList, apiVersions } from "#api";
import { assert, printJson } from "#base";
import { printYaml } from "#meta";
import { fromJson, type StructType, toProtobuf, wrapEnvelope } from "#schema";
import type { Document } from "./discovery-documents.ts";
import type { Format } from "../response/negotiation.ts";

const structs: ReadonlyMap<string, StructType<any>> = new Map<string, StructType<any>>([
  ["APIGroup", apiGroup],
  ["APIGroupDiscoveryList", apiGroupDiscoveryList],
  ["APIGroupList", apiGroupList],
  ["APIResourceList", apiResourceList],
  ["APIVersions", apiVersions],
]);

/** JSON with a trailing newline, as Go's `json.Encoder` writes it. */
function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(`${printJson(value)}\n`);
}

export function encodeDocument(document: Document, format: Format): Uint8Array {
  switch (format) {
    case "json":
      return jsonBytes(document);
    case "yaml":
      return Buffer.from(printYaml(document));
    case "protobuf": {
      const struct = structs.get(document.kind);
      assert(struct !== undefined, `${document.kind} is not a discovery document`);
      const message = toProtobuf(struct, fromJson(struct, document, { root: true }));
      const { apiVersion = "" } = document;
      return wrapEnvelope({ apiVersion, kind: document.kind }, message);
    }
  }
}
