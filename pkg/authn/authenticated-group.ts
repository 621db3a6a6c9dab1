import type { User } from "#request";

const anonymous = "system:anonymous";
const unauthenticated = "system:unauthenticated";
const authenticated = "system:authenticated";

/** Adds `system:authenticated`, unless the user already has it or `system:unauthenticated`. */
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
