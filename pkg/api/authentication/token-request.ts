/** What the token subresource of service accounts speaks. */
import { required, int64, list, nullablePointer, value, string, structs } from "#schema";
import { objectMeta, time } from "#meta";

const v1 = structs("api/authentication/v1");

const boundObjectReference = v1("BoundObjectReference", "The object that a token lives with.", {
  kind: value(1, string, "Kind of the object: Pod, Secret or Node."),
  apiVersion: value(2, string, "Its group and version."),
  name: value(3, string, "Its name."),
  uid: value(4, string, "Its UID.", { protoName: "uID" }),
});

const tokenRequestSpec = v1("TokenRequestSpec", "What the token is to be.", {
  audiences: required(1, list(string), "Who shall take it; empty means the API server.", {
    listType: "atomic",
  }),
  expirationSeconds: nullablePointer(4, int64, "Its life in seconds, an hour by default.", {
    required: false,
    default: 3600,
  }),
  boundObjectRef: nullablePointer(
    3,
    boundObjectReference,
    "The object with which the token ends.",
    {
      required: false,
    },
  ),
});

const tokenRequestStatus = v1("TokenRequestStatus", "The token.", {
  token: required(1, string, "The token."),
  expirationTimestamp: required(2, time, "When it ends."),
});

export const tokenRequestV1 = v1("TokenRequest", "Asks for a token of a service account.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: required(2, tokenRequestSpec, "What the token is to be."),
  status: value(3, tokenRequestStatus, "The token; filled in by the server."),
});
