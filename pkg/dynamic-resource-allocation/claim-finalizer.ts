import { type Domain, resolve } from "#meta";

/** Finalizer of allocated claims, which keeps them until no pod uses their devices. */
export const claimFinalizer = (domain: Domain) =>
  resolve("resource.{label}/delete-protection", domain);
