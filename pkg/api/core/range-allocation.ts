import { required, bytes, value, string, structs } from "#schema";
import { objectMeta } from "#meta";

/** RangeAllocation is stored beside Services to persist allocations, but not served. */
export const rangeAllocation = structs("api/core/v1")(
  "RangeAllocation",
  "RangeAllocation records the allocated numbers of a range, such as node ports. Not served by " +
    "the API.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    range: required(2, string, "Range of numbers, for example `30000-32767`."),
    data: required(
      3,
      bytes,
      "Bitmap of the allocated numbers as a big-endian integer. The lowest bit stands for " +
        "the first number.",
    ),
  },
);
