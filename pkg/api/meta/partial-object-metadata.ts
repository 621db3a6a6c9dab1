/** Objects reduced to their metadata: `as=PartialObjectMetadata`. */
import { always, list, plain, structs } from "#schema";
import { listMeta, objectMeta } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const partialObjectMetadata = v1(
  "PartialObjectMetadata",
  "Any object, with nothing but its metadata.",
  {
    metadata: plain(1, objectMeta, "The object's metadata."),
  },
);

export const partialObjectMetadataList = v1(
  "PartialObjectMetadataList",
  "A list of objects reduced to their metadata.",
  {
    metadata: plain(1, listMeta, "Metadata of the list."),
    items: always(2, list(partialObjectMetadata), "The objects."),
  },
);
