import type { CreateHandler } from "#registry";
import type { User } from "#request";

/** UserInfo of a user. */
export function userInfoOf({ name, uid, groups, extra }: User): object {
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** SelfSubjectReview: returns the user of the request. */
export const selfSubjectReview: CreateHandler = {
  handle: async ({ request, context }) => {
    const creationTimestamp = new Date(context.now).toISOString().replace(/\.\d+Z$/, "Z");
    return { metadata: { creationTimestamp }, status: { userInfo: userInfoOf(request.user) } };
  },
};
