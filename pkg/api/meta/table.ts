/** Table: objects as rows (`as=Table`). JSON only; Kubernetes has no Protobuf form. */
import { required, int32, list, value, scalar, string, structs } from "#schema";
import { listMeta, rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

/** Any JSON value, not decoded further. */
const cell = scalar<unknown>({
  name: "Cell",
  package: "apimachinery/pkg/apis/meta/v1",
  doc: "String, number, boolean, list of these, or null.",
  fromJson: (value) => value,
  wire: v1("Cell", "Placeholder: cells only exist in JSON.", {}),
  toWire: () => ({}),
  fromWire: () => null,
  openapi: {},
  zero: null,
});

const tableColumnDefinition = v1("TableColumnDefinition", "Definition of a table column.", {
  name: required(0, string, "Human-readable name of the table column."),
  type: required(
    0,
    string,
    "OpenAPI type of the cells, such as string, integer, number, boolean or date.",
  ),
  format: required(
    0,
    string,
    "OpenAPI format of the cells. `name` marks the column with the name of the object.",
  ),
  description: required(0, string, "Human-readable description of the column."),
  priority: required(
    0,
    int32,
    "Relative importance of the column. Columns with a priority other than 0 are only shown in " +
      "wide output.",
  ),
});

const tableRowCondition = v1("TableRowCondition", "Condition of a table row.", {
  type: required(0, string, "Type of the condition: Completed marks rows that clients can hide."),
  status: required(0, string, "Status of the condition: True, False or Unknown."),
  reason: value(0, string, "Machine-readable reason for the condition."),
  message: value(0, string, "Human-readable message with details about the condition."),
});

const tableRow = v1("TableRow", "Row of a table, which describes one object.", {
  cells: required(0, list(cell), "Values in the order of columnDefinitions.", {
    listType: "atomic",
  }),
  conditions: value(
    0,
    list(tableRowCondition),
    "Additional status of the row. Absent for most rows.",
    {
      listType: "atomic",
    },
  ),
  object: value(
    0,
    rawExtension,
    "Object of the row, as the parameter includeObject says: the full object, its metadata " +
      "(the default), or none.",
  ),
});

export const table = v1(
  "Table",
  "Table represents objects in tabular form, as `kubectl get` prints them.",
  {
    metadata: value(0, listMeta, "Standard list metadata."),
    columnDefinitions: required(
      0,
      list(tableColumnDefinition),
      "Definitions of the columns, in order.",
      {
        listType: "atomic",
      },
    ),
    rows: required(0, list(tableRow), "Rows of the table, usually one per object.", {
      listType: "atomic",
    }),
  },
);
