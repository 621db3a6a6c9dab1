import { AdmissionPluginError } from "#admission";
import { FeatureGateError } from "#api";
import {
  CodecError,
  FileError,
  MissingProgramError,
  ProcessEndedError,
  RecordError,
  RuntimeConfigError,
  StartError,
  WorkerError,
} from "#controlplane";
import { ConfigurationFault } from "#meta";
import { UsageError } from "../flags/parse.ts";

const faults = [
  AdmissionPluginError,
  CodecError,
  ConfigurationFault,
  ProcessEndedError,
  FeatureGateError,
  FileError,
  MissingProgramError,
  RecordError,
  RuntimeConfigError,
  StartError,
  UsageError,
  WorkerError,
] as const;

/**
 * Whether an error is caused by flags, files or the environment, so that its message is printed
 * without a stack.
 */
export function isExpectedFault(error: unknown): error is Error {
  return faults.some((fault) => error instanceof fault);
}
