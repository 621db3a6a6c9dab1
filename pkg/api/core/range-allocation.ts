import { required, bytes, value, string, structs } from "#schema";
import { objectMeta } from "#meta";

/** No path serves it; it lies in the store beside the objects that it is about. */
export const rangeAllocation = structs("api/core/v1")(
  "RangeAllocation",
  "Which numbers of a range are taken.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    range: required(2, string, "The range, as in `30000-32767`."),
    data: required(
      3,
      bytes,
      "One bit per number, as one big-endian integer: the lowest bit is the first number.",
    ),
  },
);
