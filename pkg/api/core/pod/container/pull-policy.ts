import type { Path, Problems } from "#schema";

const policies = ["Always", "IfNotPresent", "Never"];

export function checkPullPolicy(policy: string | undefined, path: Path, problems: Problems): void {
  if (!policy) problems.required(path);
  else if (!policies.includes(policy)) problems.notSupported(path, policy, policies);
}
