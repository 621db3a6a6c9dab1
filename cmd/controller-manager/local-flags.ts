import type { StartOptions } from "#controlplane";
import { flag, type FlagValues } from "../flags/parse.ts";
import { controllerFlags, tuningOf } from "./controller-flags.ts";
import { controllersFlag } from "./flags.ts";
import { selectedControllers } from "./selected-controllers.ts";

const {
  // Left out: the server passes its own certificates, keys and CIDRs.
  "cluster-signing-cert-file": _certificate,
  "cluster-signing-key-file": _key,
  "cluster-signing-duration": _duration,
  "root-ca-file": _authorities,
  "service-account-private-key-file": _signingKey,
  "service-cluster-ip-range": _services,
  ...tuningFlags
} = controllerFlags;

/** Flags of the controllers that run in the process of the API server. */
export const localControllerFlags = {
  controllers: flag(
    "list",
    [],
    `${controllersFlag.help} (default: *, and bootstrapsigner and tokencleaner with ` +
      "--enable-bootstrap-token-auth)",
  ),
  ...tuningFlags,
} as const;

type Values = FlagValues<typeof localControllerFlags> & {
  readonly "service-cluster-ip-range": readonly string[];
};

/** @throws UsageError for unknown controllers and invalid CIDRs */
export function localControllerOptions(
  values: Values,
): NonNullable<StartOptions["controllerManager"]> {
  const { controllers } = values;
  return {
    settings: tuningOf({
      ...values,
      "cluster-signing-cert-file": "",
      "cluster-signing-key-file": "",
      "cluster-signing-duration": 0,
      "root-ca-file": "",
      "service-account-private-key-file": "",
      "service-cluster-ip-range": values["service-cluster-ip-range"].join(","),
    }),
    ...(controllers.length === 0 ? {} : { selected: selectedControllers(controllers) }),
  };
}
