/** Objects reduced to their metadata: `as=PartialObjectMetadata`. */
import { value, structs } from "#schema";
import { objectMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const partialObjectMetadata = v1(
  "PartialObjectMetadata",
  "Any object, with nothing but its metadata.",
  {
    metadata: value(1, objectMeta, "The object's metadata."),
  },
);
