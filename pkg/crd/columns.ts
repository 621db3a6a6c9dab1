import { escapedForHtml } from "#schema";
import { printSortedJson } from "#base";
import { type DefinitionVersion, humanDuration, nameColumn } from "#api";
import type { Cell, Column, RowContext } from "#meta";
import { JsonPath } from "#structural";

type PrinterColumn = NonNullable<DefinitionVersion["additionalPrinterColumns"]>[number];

const defaultColumns: readonly PrinterColumn[] = [
  {
    name: "Age",
    type: "date",
    description: "Time since the object was created.",
    jsonPath: ".metadata.creationTimestamp",
  },
];

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The printer columns of a version, and the function that renders an object's row. */
export function tableOf(
  { additionalPrinterColumns }: DefinitionVersion,
  { apiVersion, kind }: TypeMeta,
): {
  readonly columns: readonly Column[];
  readonly row: (object: any, context: RowContext) => readonly Cell[];
} {
  const columns = additionalPrinterColumns?.length ? additionalPrinterColumns : defaultColumns;
  let cells: readonly ((object: unknown, context: RowContext) => Cell)[] | undefined;
  return {
    columns: [nameColumn, ...columns.map(columnOf)],
    row: (object, context) => {
      cells ??= columns.map(cellOf);
      // JSON paths may refer to apiVersion and kind, which objects in memory do not have.
      const typed = { apiVersion, kind, ...object };
      return [object.metadata.name ?? "", ...cells.map((cell) => cell(typed, context))];
    },
  };
}

function columnOf({ name, type, format, description, priority, jsonPath }: PrinterColumn): Column {
  return {
    name,
    type: type as Column["type"],
    format: format ?? "",
    description:
      description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority: priority ?? 0,
  };
}

/** Renders the first value at the JSON path. */
function cellOf({ type, jsonPath }: PrinterColumn): (object: unknown, context: RowContext) => Cell {
  const path = JsonPath.parse(jsonPath);
  return (object, { now }) => {
    const [value] = path?.find(object) ?? [];
    if (value === undefined) return null;
    if (type === "string") return textCell(value);
    return type === "date" ? dateCell(value, now) : plainCell(type, value);
  };
}

/** Formats a value as client-go's JSONPath printer does. */
function textCell(value: unknown): string {
  if (value === null) return "<no value>";
  return typeof value === "object" ? escapedForHtml(printSortedJson(value)) : String(value);
}

/** Go's conversion of a double to an int64; the result of one out of range is that of amd64. */
function wholeNumber(value: number): number | bigint {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole;
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : -(2n ** 63n);
}

function dateCell(value: unknown, now: number): Cell {
  if (typeof value !== "string") return null;
  if (value === "") return "<unknown>";
  const time = Date.parse(value);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(value);
  return isTime && Number.isFinite(time) ? humanDuration(now - time) : "<invalid>";
}

/** The value, or null if it has another type. */
function plainCell(type: string, value: unknown): Cell {
  switch (type) {
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? wholeNumber(value) : null;
    case "number":
      if (typeof value === "bigint") return Number(value);
      return typeof value === "number" ? value : null;
    default:
      return typeof value === "boolean" ? value : null;
  }
}
