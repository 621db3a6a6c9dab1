/** What the token subresource of service accounts speaks. */
import { always, int64, list, nullable, plain, string, structs } from "#schema";
import { objectMeta, time } from "#meta";

const v1 = structs("api/authentication/v1");

const boundObjectReference = v1("BoundObjectReference", "The object that a token lives with.", {
  kind: plain(1, string, "Kind of the object: Pod, Secret or Node."),
  apiVersion: plain(2, string, "Its group and version."),
  name: plain(3, string, "Its name."),
  uid: plain(4, string, "Its UID.", { protoName: "uID" }),
});

const tokenRequestSpec = v1("TokenRequestSpec", "What the token is to be.", {
  audiences: always(1, list(string), "Who shall take it; empty means the API server.", {
    listType: "atomic",
  }),
  expirationSeconds: nullable(4, int64, "Its life in seconds, an hour by default.", {
    required: false,
    default: 3600,
  }),
  boundObjectRef: nullable(3, boundObjectReference, "The object with which the token ends.", {
    required: false,
  }),
});

const tokenRequestStatus = v1("TokenRequestStatus", "The token.", {
  token: always(1, string, "The token."),
  expirationTimestamp: always(2, time, "When it ends."),
});

export const tokenRequestV1 = v1("TokenRequest", "Asks for a token of a service account.", {
  metadata: plain(1, objectMeta, "Standard object metadata."),
  spec: always(2, tokenRequestSpec, "What the token is to be."),
  status: plain(3, tokenRequestStatus, "The token; filled in by the server."),
});
