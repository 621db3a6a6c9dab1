import { deepClone } from "#base";
import { objectMeta } from "#meta";
import { type OpenMembers, value, structs, type StructType } from "#schema";
import {
  applyDefaults,
  CompiledSchema,
  type JsonSchema,
  mergeShape,
  pruneObject,
  publishedSchema,
} from "#structural";
import type { DefinitionVersion } from "#api";

/** One version of a custom resource: its schema, and the struct that all folds read. */
export interface VersionSchema {
  readonly name: string;
  readonly schema: CompiledSchema;
  readonly struct: StructType<any>;
  /** A copy of an object without what this version does not know. */
  readonly adopted: (object: any) => any;
}

interface Definition {
  readonly group: string;
  readonly kind: string;
  /** Schemas prune nothing: so it was before v1, and stays with definitions from then. */
  readonly preservesUnknown: boolean;
}

const anything: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Cheap: nothing of the schema is compiled before it is needed. */
export function versionSchema(version: DefinitionVersion, definition: Definition): VersionSchema {
  const { group, kind, preservesUnknown } = definition;
  const source = (version.schema?.openAPIV3Schema ?? anything) as JsonSchema;
  const schema = new CompiledSchema(source, { keepsAll: preservesUnknown });
  const doc = source.description ?? "";
  const fields = { metadata: value(1, objectMeta, "Standard object's metadata.") };
  const extensions = selectableExtension(version.selectableFields ?? []);
  const open = openMembers(schema, extensions);
  return {
    name: version.name,
    schema,
    struct: structs(`${group}/${version.name}`)(kind, doc, fields, { open, extensions }),
    adopted: (object) => {
      const copy = deepClone(object);
      pruneObject(copy, schema);
      return copy;
    },
  };
}

type SelectableFields = NonNullable<DefinitionVersion["selectableFields"]>;

/** Published at the schemas of the kind and of its list. */
function selectableExtension(selectable: SelectableFields): Readonly<Record<string, unknown>> {
  const fields = selectable.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, "") }));
  return fields.length === 0 ? {} : { "x-kubernetes-selectable-fields": fields };
}

function openMembers(
  schema: CompiledSchema,
  extension: Readonly<Record<string, unknown>>,
): OpenMembers {
  return {
    prune: (object, unknown) => {
      const dropped = pruneObject(object, schema);
      unknown?.push(...dropped);
    },
    applyDefaults: (object) => applyDefaults(object, schema),
    mergeShape: () => mergeShape(schema),
    openApi: (dialect, metadata) => {
      // kubectl takes what is not listed for wrong, and cannot be told there that more is allowed.
      if (dialect === "v2" && schema.keepsUnknown) return { type: "object", ...extension };
      const published = publishedSchema(schema.source, dialect, metadata);
      const { properties } = published as { readonly properties?: object };
      const all = { ...properties, metadata };
      return { ...published, type: "object", properties: all, ...extension };
    },
  };
}
