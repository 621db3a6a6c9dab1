/** TokenRequest, the kind of the token subresource of service accounts. */
import { required, int64, list, nullablePointer, value, string, structs } from "#schema";
import { objectMeta, time } from "#meta";

const v1 = structs("api/authentication/v1");

const boundObjectReference = v1(
  "BoundObjectReference",
  "Object whose deletion invalidates a token.",
  {
    kind: value(1, string, "Kind of the object: Pod, Secret or Node."),
    apiVersion: value(2, string, "API version of the object: v1 for all supported kinds."),
    name: value(3, string, "Name of the referenced object."),
    uid: value(4, string, "UID of the object. When absent, the server fills in the current one.", {
      protoName: "uID",
    }),
  },
);

const tokenRequestSpec = v1("TokenRequestSpec", "Desired properties of a service account token.", {
  audiences: required(
    1,
    list(string),
    "Intended recipients of the token, each of which must verify that it is named. Empty " +
      "for the audiences of the API server.",
    {
      listType: "atomic",
    },
  ),
  expirationSeconds: nullablePointer(
    4,
    int64,
    "Requested lifetime, in seconds: 600 to 4294967296. The server may grant another one. " +
      "Defaults to 3600.",
    {
      required: false,
      default: 3600,
    },
  ),
  boundObjectRef: nullablePointer(
    3,
    boundObjectReference,
    "Pod, Secret or Node to bind the token to: it becomes invalid when the object is deleted.",
    {
      required: false,
    },
  ),
});

const tokenRequestStatus = v1("TokenRequestStatus", "Issued service account token.", {
  token: required(1, string, "Token in JWT form, to be sent as a bearer token."),
  expirationTimestamp: required(2, time, "Time at which the token expires."),
});

export const tokenRequestV1 = v1(
  "TokenRequest",
  "TokenRequest issues a token for a service account, through the subresource `token`. " +
    "It is not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, tokenRequestSpec, "Audiences, lifetime and binding of the token."),
    status: value(3, tokenRequestStatus, "Token that was issued. Filled in by the server."),
  },
);
