import { always, bytes, plain, string, structs } from "#schema";
import { objectMeta } from "#meta";

/** No path serves it; it lies in the store beside the objects that it is about. */
export const rangeAllocation = structs("api/core/v1")(
  "RangeAllocation",
  "Which numbers of a range are taken.",
  {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    range: always(2, string, "The range, as in `30000-32767`."),
    data: always(
      3,
      bytes,
      "One bit per number, as one big-endian integer: the lowest bit is the first number.",
    ),
  },
);
