import { printJson } from "#base";
import { escapeHtml, type Resource } from "#meta";
import type { Item } from "#registry";
import { toJson } from "#schema";
import { itemJson, partialJson, partialTypeMeta, metadataAlone, typeMetaOf } from "./encode.ts";
import type { IncludeObject, Transform } from "./negotiation.ts";

export interface TableView {
  readonly as: Transform;
  readonly include: IncludeObject;
  /** Time in ms since 1970 from which ages are computed. */
  readonly now: number;
}

/**
 * JSON of a Table up to its rows. Without columns `columnDefinitions` is null, as in all watch events
 * after the first.
 */
export function tableHead(
  resource: Resource,
  view: TableView,
  { metadata, columns }: { readonly metadata: object; readonly columns: boolean },
): string {
  const definitions = resource.kind.columns.map(
    ({ name, type, format, description, priority }) => ({
      name,
      type,
      format,
      description,
      priority,
    }),
  );
  const head = {
    kind: "Table",
    apiVersion: `${view.as.group}/${view.as.version}`,
    metadata,
    columnDefinitions: columns ? definitions : null,
  };
  return `${printJson(head).slice(0, -1)},"rows":[`;
}

export const tableTail = "]}";

export function rowJson(item: Item, view: TableView): string {
  const cells = cellsJson(item.resource, item.object, view);
  switch (view.include) {
    case "None":
      return `{"cells":${cells},"object":null}`;
    case "Object":
      return `{"cells":${cells},"object":${joinChunks(itemJson(item, false))}}`;
    case "Metadata":
      return metadataRow(cells, metadataAlone(item), view);
  }
}

/** JSON of the row of an object that is not stored, such as that of a bookmark. */
export function objectRowJson(resource: Resource, object: any, view: TableView): string {
  const cells = cellsJson(resource, object, view);
  switch (view.include) {
    case "None":
      return `{"cells":${cells},"object":null}`;
    case "Object":
      return `{"cells":${cells},"object":${toJson(resource.struct, object, typeMetaOf(resource))}}`;
    case "Metadata":
      return metadataRow(cells, object.metadata, view);
  }
}

function metadataRow(cells: string, metadata: unknown, view: TableView): string {
  const partial = partialJson(metadata, partialTypeMeta(view.as));
  return `{"cells":${cells},"object":${partial}}`;
}

/** JSON of the cells, followed by the member `conditions` if the object has row conditions. */
function cellsJson({ kind }: Resource, object: unknown, view: TableView): string {
  const cells = escapeHtml(printJson(kind.row(object, { now: view.now })));
  const conditions = kind.rowConditions?.(object) ?? [];
  if (conditions.length === 0) return cells;
  return `${cells},"conditions":${escapeHtml(JSON.stringify(conditions))}`;
}

export function joinChunks(chunks: readonly (string | Uint8Array)[]): string {
  return chunks
    .map((chunk) => (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8")))
    .join("");
}
