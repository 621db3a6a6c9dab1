/** PartialObjectMetadata: objects reduced to metadata (`as=PartialObjectMetadata`). */
import { value, structs } from "#schema";
import { objectMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const partialObjectMetadata = v1(
  "PartialObjectMetadata",
  "PartialObjectMetadata represents any object, with its metadata only.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
  },
);
