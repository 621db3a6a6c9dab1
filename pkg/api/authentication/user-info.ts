import { boxedList, list, map, plain, string, structs } from "#schema";

const v1 = structs("api/authentication/v1");

/** Who someone is, as authentication has it. */
export const userInfo = v1("UserInfo", "Who someone is.", {
  username: plain(1, string, "Name of the user."),
  uid: plain(2, string, "Identifies the user even when names are used again."),
  groups: plain(3, list(string), "Groups that the user belongs to.", { listType: "atomic" }),
  extra: plain(
    4,
    map(boxedList("api/authentication/v1", "ExtraValue", string)),
    "What else the authenticator knows.",
  ),
});
