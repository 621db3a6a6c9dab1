/** TokenRequest, the kind of the token subresource of service accounts. */
import { required, int64, list, nullablePointer, value, string, structs } from "#schema";
import { objectMeta, time } from "#meta";

const v1 = structs("api/authentication/v1");

const boundObjectReference = v1(
  "BoundObjectReference",
  "Object whose existence a token depends on.",
  {
    kind: value(1, string, "Kind of the referenced object: Pod, Secret or Node."),
    apiVersion: value(2, string, "API version of the referenced object: v1."),
    name: value(3, string, "Name of the referenced object."),
    uid: value(4, string, "UID of the referenced object. Set by the API server if absent.", {
      protoName: "uID",
    }),
  },
);

const tokenRequestSpec = v1("TokenRequestSpec", "Properties of the requested token.", {
  audiences: required(
    1,
    list(string),
    "Intended audiences of the token. Recipients must reject tokens that are not for them. " +
      "Defaults to the audiences of the API server.",
    {
      listType: "atomic",
    },
  ),
  expirationSeconds: nullablePointer(
    4,
    int64,
    "Requested lifetime of the token in seconds, 600 to 4294967296. The API server can grant a " +
      "different one. Defaults to 3600.",
    {
      required: false,
      default: 3600,
    },
  ),
  boundObjectRef: nullablePointer(
    3,
    boundObjectReference,
    "Pod, Secret or Node that the token is bound to: it is only valid as long as the object " +
      "exists.",
    {
      required: false,
    },
  ),
});

const tokenRequestStatus = v1("TokenRequestStatus", "Result of a token request.", {
  token: required(1, string, "Bearer token: a JSON Web Token (JWT)."),
  expirationTimestamp: required(2, time, "Time at which the token expires."),
});

export const tokenRequestV1 = v1(
  "TokenRequest",
  "TokenRequest requests a token for a service account, through its subresource `token`. It is " +
    "not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, tokenRequestSpec, "Audiences, lifetime and bound object of the token."),
    status: value(3, tokenRequestStatus, "Issued token. Set by the API server."),
  },
);
