import { boxedList, list, map, value, string, structs } from "#schema";

const v1 = structs("api/authentication/v1");

/** Who someone is, as authentication has it. */
export const userInfo = v1("UserInfo", "Who someone is.", {
  username: value(1, string, "Name of the user."),
  uid: value(2, string, "Identifies the user even when names are used again."),
  groups: value(3, list(string), "Groups that the user belongs to.", { listType: "atomic" }),
  extra: value(
    4,
    map(boxedList("api/authentication/v1", "ExtraValue", string)),
    "What else the authenticator knows.",
  ),
});
