import { dropGated } from "#schema";
import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { same } from "../../strategy.ts";
import { sliceDown, sliceUp } from "../beta1-versions.ts";
import { checkSliceSpec } from "./slice-rules.ts";
import { sliceV1, sliceV1beta1, sliceV1beta2 } from "./slice-structs.ts";
import { stampTaint } from "../taint-time.ts";

export const resourceSlice = kind(sliceV1beta2, {
  group: "resource.{api}",
  kind: "ResourceSlice",
  plural: "resourceslices",
  scope: "Cluster",
  versions: [
    { version: "v1", struct: sliceV1, onByDefault: true, convert: same },
    { version: "v1beta2", struct: sliceV1beta2, onByDefault: false, convert: "hub" },
    {
      version: "v1beta1",
      struct: sliceV1beta1,
      onByDefault: false,
      convert: { up: sliceUp, down: sliceDown },
    },
  ],
  rules: { generation: true, deleteReturnsObject: true, namedInFieldFaults: "groupVersionKind" },
  hooks: {
    default: ({ spec }, context) => {
      for (const { taints = [] } of spec.devices ?? []) {
        for (const taint of taints) stampTaint(taint, context);
      }
    },
    prepareCreate: (object, { gate }) => dropGated(sliceV1beta2, object, { isOn: gate }),
    prepareUpdate: (object, old, { gate }) => dropGated(sliceV1beta2, object, { old, isOn: gate }),
    validate: ({ spec }, problems) => checkSliceSpec(spec, undefined, problems),
    validateUpdate: ({ spec }, old, problems) => checkSliceSpec(spec, old.spec, problems),
  },
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec.nodeName ?? "",
    "spec.driver": ({ spec }) => spec.driver,
  },
  columns: [
    nameColumn,
    column("Node", "Node that can access the devices."),
    column("Driver", "DRA driver of the devices."),
    column("Pool", "Pool that the slice belongs to."),
    ageColumn,
  ],
  row: (object, context) => {
    const { nodeName = "", driver, pool } = object.spec;
    return [nameOf(object), nodeName, driver, pool.name, ageOf(object, context)];
  },
});
