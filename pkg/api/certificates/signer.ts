import type { Path, Problems } from "#schema";
import { signerNameFaults } from "../core/shared/signer-name.ts";

/** Validates a signer name such as `example.com/signer-name`. */
export function checkSignerName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  for (const { value, message } of signerNameFaults(name)) problems.invalid(path, value, message);
}
