/** What a file of `--admission-control-config-file` says. */
import type { Domain } from "#meta";
import {
  AdmissionConfigurationFault,
  type ConfigurationPlace,
  known,
  listIn,
  parsed,
  recordOf,
  typed,
} from "./fields.ts";
import { type EventLimit, eventLimitsIn } from "../plugins/access/event-rate-limit.ts";
import { type ImagePolicy, imagePolicyIn } from "../plugins/pod/image-policy-webhook.ts";
import { type NodeSelectors, nodeSelectorsIn } from "../plugins/pod/pod-node-selector.ts";
import { type PodSecurityDefaults, podSecurityIn } from "../pod-security/index.ts";
import {
  type PodTolerations,
  podTolerationsIn,
} from "../plugins/pod/pod-toleration-restriction.ts";

/** Each by the name of its plugin; absent where the file does not speak of it. */
export interface AdmissionConfiguration {
  readonly EventRateLimit?: readonly EventLimit[];
  readonly ImagePolicyWebhook?: ImagePolicy;
  readonly PodNodeSelector?: NodeSelectors;
  readonly PodSecurity?: PodSecurityDefaults;
  readonly PodTolerationRestriction?: PodTolerations;
}

type Parsers = {
  readonly [Name in keyof Required<AdmissionConfiguration>]: (
    value: unknown,
    place: ConfigurationPlace,
  ) => Required<AdmissionConfiguration>[Name];
};

const parsers: Parsers = {
  EventRateLimit: (value, { domain }) => eventLimitsIn(value, domain),
  ImagePolicyWebhook: imagePolicyIn,
  PodNodeSelector: nodeSelectorsIn,
  PodSecurity: (value, { domain }) => podSecurityIn(value, domain),
  PodTolerationRestriction: (value, { domain }) => podTolerationsIn(value, domain),
};

/**
 * An AdmissionConfiguration, YAML or JSON; `readFile` reads what it refers to by path.
 * @throws AdmissionConfigurationFault, or what `readFile` throws
 */
export function parseAdmissionConfiguration(
  text: string,
  domain: Domain,
  readFile: (path: string) => string,
): AdmissionConfiguration {
  const kind = "AdmissionConfiguration";
  const file = typed(parsed(text), { group: "apiserver.config.{api}", kind }, domain);
  known(file, ["apiVersion", "kind", "plugins"], kind);
  const found = new Map<string, unknown>();
  for (const plugin of listIn(file, "plugins")) {
    const fields = recordOf(plugin, "plugins");
    known(fields, ["name", "path", "configuration"], "plugins");
    const { name, path, configuration } = fields;
    const isKnown = typeof name === "string" && Object.hasOwn(parsers, name);
    if (!isKnown) {
      const told = JSON.stringify(name);
      throw new AdmissionConfigurationFault(`plugin ${told} takes no configuration here`);
    }
    if (found.has(name)) throw new AdmissionConfigurationFault(`${name} is configured twice`);
    const given = configuration ?? (typeof path === "string" ? parsed(readFile(path)) : undefined);
    if (given === undefined) continue;
    found.set(name, parsers[name as keyof Parsers](given, { domain, readFile }));
  }
  return Object.fromEntries(found);
}
