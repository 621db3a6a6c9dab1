/** A list of objects of any kinds, as clients send it in one document. */
import { always, list, plain, structs } from "#schema";
import { listMeta, rawExtension } from "#meta";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const anyList = v1("List", "Objects of any kinds, one after another.", {
  metadata: plain(1, listMeta, "Metadata of the list."),
  items: always(2, list(rawExtension), "The objects."),
});
