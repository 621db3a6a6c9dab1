import { boxedList, list, map, value, string, structs } from "#schema";

const v1 = structs("api/authentication/v1");

/** Identity of a user, as authentication established it. */
export const userInfo = v1("UserInfo", "Attributes of a user, as needed for authorization.", {
  username: value(1, string, "Unique name of the user among all active users."),
  uid: value(2, string, "Identifier that stays unique even when a username is reused."),
  groups: value(3, list(string), "Groups that the user is a member of.", { listType: "atomic" }),
  extra: value(
    4,
    map(boxedList("api/authentication/v1", "ExtraValue", string)),
    "Further attributes that the authenticator supplies, by lowercase key.",
  ),
});
