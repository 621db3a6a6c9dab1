/** Discovery documents as bytes, in each form that clients may ask for. */
import type { Document } from "./discovery-documents.ts";
import type { Format } from "./negotiation.ts";

/** JSON with the line feed that Kubernetes' encoder puts at the end. */
export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

export function encodeDocument(document: Document, _format: Format): Uint8Array {
  return jsonBytes(document);
}
