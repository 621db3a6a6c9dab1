import { boxedList, list, map, value, string, structs } from "#schema";

const v1 = structs("api/authentication/v1");

/** Identity of a user, as authentication established it. */
export const userInfo = v1("UserInfo", "Information about a user, as known to the authenticator.", {
  username: value(1, string, "Unique name of the user among all active users."),
  uid: value(
    2,
    string,
    "Unique identifier of the user across time, unlike the username, which could be reused.",
  ),
  groups: value(3, list(string), "Groups that the user is a member of.", { listType: "atomic" }),
  extra: value(
    4,
    map(boxedList("api/authentication/v1", "ExtraValue", string)),
    "Extra attributes from the authenticator, by lowercase key.",
  ),
});
