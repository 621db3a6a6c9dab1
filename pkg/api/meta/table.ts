/** Objects as rows of cells: `as=Table`. JSON only; Kubernetes has no Protobuf form of it. */
import { required, int32, list, value, scalar, string, structs } from "#schema";
import { listMeta, rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

/** Any JSON value, taken as it is. */
const cell = scalar<unknown>({
  name: "Cell",
  package: "apimachinery/pkg/apis/meta/v1",
  doc: "A string, number, boolean, list of them, or null.",
  fromJson: (value) => value,
  wire: v1("Cell", "A cell has no form but JSON.", {}),
  toWire: () => ({}),
  fromWire: () => null,
  openapi: {},
  zero: null,
});

const tableColumnDefinition = v1("TableColumnDefinition", "What a column holds.", {
  name: required(0, string, "Heading."),
  type: required(0, string, "OpenAPI type of the cells: string, integer, number, boolean or date."),
  format: required(0, string, "OpenAPI format; `name` for the column that names the object."),
  description: required(0, string, "What the cells mean."),
  priority: required(0, int32, "Zero is always shown; higher only where there is room."),
});

const tableRowCondition = v1("TableRowCondition", "Something noteworthy about a row.", {
  type: required(0, string, "Kind of the condition; `Completed` rows may be hidden."),
  status: required(0, string, "True, False or Unknown."),
  reason: value(0, string, "Machine-readable reason."),
  message: value(0, string, "The condition in words."),
});

const tableRow = v1("TableRow", "One object as cells.", {
  cells: required(0, list(cell), "One cell for each column.", { listType: "atomic" }),
  conditions: value(0, list(tableRowCondition), "Conditions of the row.", { listType: "atomic" }),
  object: value(0, rawExtension, "The object, or its metadata, or nothing, as asked for."),
});

export const table = v1("Table", "Objects as rows of cells.", {
  metadata: value(0, listMeta, "Metadata of the list."),
  columnDefinitions: required(0, list(tableColumnDefinition), "The columns.", {
    listType: "atomic",
  }),
  rows: required(0, list(tableRow), "The rows.", { listType: "atomic" }),
});
