import type { AdmissionPlugin } from "../../plugin.ts";

/** A PUT or server-side apply that creates an object needs the `create` verb, too. */
export const createByUpdateAuthorization: AdmissionPlugin = {
  name: "CreateByUpdateAuthorization",
  enabled: "always",
  create: ({ accessChecks }) => (accessChecks ? { mutate: accessChecks.createByUpdate } : {}),
};
