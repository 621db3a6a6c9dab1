import { append, atOnce, deepClone } from "#base";
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

/** One version of a custom resource: its structural schema, and its StructType. */
export interface VersionSchema {
  readonly name: string;
  readonly schema: CompiledSchema;
  readonly struct: StructType<any>;
  /** Copies an object and prunes the fields that this version does not specify. */
  readonly prunedCopy: (object: any) => any;
}

interface Definition {
  readonly group: string;
  readonly kind: string;
  /** `spec.preserveUnknownFields`, which only definitions created by v1beta1 may set. */
  readonly preservesUnknown: boolean;
}

const anyObject: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Cheap: the schema is compiled on demand. */
export function versionSchema(version: DefinitionVersion, definition: Definition): VersionSchema {
  const { group, kind, preservesUnknown } = definition;
  const source = (version.schema?.openAPIV3Schema ?? anyObject) as JsonSchema;
  const schema = new CompiledSchema(source, { preservesAll: preservesUnknown });
  const doc = source.description ?? "";
  const fields = { metadata: value(1, objectMeta, "Standard object's metadata.") };
  const extensions = selectableExtension(version.selectableFields ?? []);
  const open = openMembers(schema, extensions);
  return {
    name: version.name,
    schema,
    struct: structs(`${group}/${version.name}`)(kind, doc, fields, { open, extensions }),
    prunedCopy: (object) => {
      const copy = deepClone(object);
      atOnce(pruneObject(copy, schema));
      return copy;
    },
  };
}

type SelectableFields = NonNullable<DefinitionVersion["selectableFields"]>;

/** The OpenAPI extension for the selectable fields of the kind and its list. */
function selectableExtension(selectable: SelectableFields): Readonly<Record<string, unknown>> {
  const fields = selectable.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, "") }));
  return fields.length === 0 ? {} : { "x-kubernetes-selectable-fields": fields };
}

function openMembers(
  schema: CompiledSchema,
  extension: Readonly<Record<string, unknown>>,
): OpenMembers {
  return {
    *prune(object, unknown) {
      const dropped = yield* pruneObject(object, schema);
      if (unknown !== undefined) append(unknown, dropped);
    },
    applyDefaults: (object) => applyDefaults(object, schema),
    mergeShape: () => mergeShape(schema),
    openApi: (dialect, metadata) => {
      // Swagger 2.0 validation in kubectl rejects unlisted fields, so that none are listed here.
      if (dialect === "v2" && schema.preservesUnknown) return { type: "object", ...extension };
      const published = publishedSchema(schema.source, dialect, metadata);
      const { properties } = published as { readonly properties?: object };
      const all = { ...properties, metadata };
      return { ...published, type: "object", properties: all, ...extension };
    },
  };
}
