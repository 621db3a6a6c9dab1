import type { User } from "#request";

const anonymous = "system:anonymous";
const unauthenticated = "system:unauthenticated";
const authenticated = "system:authenticated";

/** Whoever is known is in one group more, unless a credential has settled that itself. */
export function withAuthenticatedGroup(user: User): User {
  const isSettled = user.groups.includes(authenticated) || user.groups.includes(unauthenticated);
  if (isSettled || user.name === anonymous) return user;
  return { ...user, groups: [...user.groups, authenticated] };
}

export const anonymousUser: User = {
  name: anonymous,
  uid: "",
  groups: [unauthenticated],
  extra: new Map(),
};
