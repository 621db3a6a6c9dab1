import { type Domain, resolve } from "#meta";

/** Finalizer of allocated claims: blocks deletion while pods use their devices. */
export const claimFinalizer = (domain: Domain) =>
  resolve("resource.{label}/delete-protection", domain);
