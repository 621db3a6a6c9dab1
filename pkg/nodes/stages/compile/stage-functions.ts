/** KWOK's functions for templates of Stages. */
import { printJson, type Random, randomText } from "#base";
import { goQuote, printYaml } from "#meta";
import { timeText } from "../../identifiers.ts";
import { isOfNodes, type StagedKind } from "../stage-kinds.ts";
import type { TemplateFunctions } from "../template/execute.ts";
import { RenderFault } from "../template/fault.ts";
import { intOf } from "../template/values.ts";

/** Inputs of the functions: time and node of the object. */
export interface StageSurroundings {
  /** Wall clock in ms. */
  readonly now: number;
  /** Wall clock in ms at which the process started. */
  readonly startedAt: number;
  readonly version: string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  /** Port of the node's kubelet server; 0 = none. */
  readonly nodePort: number;
  /** Address of the pod; undefined = none free. */
  readonly podAddress: () => string | undefined;
  readonly random: Random;
}

const conditions: readonly (readonly [
  type: string,
  status: string,
  reason: string,
  message: string,
])[] = [
  ["Ready", "True", "KubeletReady", "kubelet is posting ready status"],
  [
    "MemoryPressure",
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
  ],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  ["NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"],
];

/** Conditions of a healthy node. */
const nodeConditions = conditions.map(([type, status, reason, message]) => ({
  type,
  status,
  reason,
  message,
}));

/** Functions for Stages of all kinds. */
function commonFunctions({ now, startedAt, version, random }: StageSurroundings) {
  return {
    Now: () => timeText(now),
    StartTime: () => timeText(startedAt),
    Version: () => version,
    Quote: quote,
    YAML: yaml,
    randInt: (from: unknown, to: unknown) =>
      intOf(from) + random.below(Math.max(intOf(to) - intOf(from), 1)),
    randAlphaNum: (length: unknown) =>
      randomText(random, Math.min(intOf(length), 1_000), alphanumeric),
    uuidv4: () => random.uuid(),
  };
}

/** Functions for Stages of Pods and Nodes. */
function nodeFunctions({ nodeName, nodeAddress, nodePort, podAddress }: StageSurroundings) {
  const freeAddress = () => {
    const address = podAddress();
    if (address === undefined) throw new RenderFault(`node ${nodeName} has no pod address left`);
    return address;
  };
  const addressOf = (isHost: unknown) => (isHost === true ? nodeAddress : freeAddress());
  return {
    NodeConditions: () => nodeConditions,
    NodeName: () => nodeName,
    NodePort: () => nodePort,
    NodeIP: () => nodeAddress,
    NodeIPWith: () => nodeAddress,
    NodeIPsWith: () => [nodeAddress],
    PodIP: freeAddress,
    PodIPWith: (_node: unknown, isHost: unknown) => addressOf(isHost),
    PodIPsWith: (_node: unknown, isHost: unknown) => [addressOf(isHost)],
  };
}

export function stageFunctions(surroundings: StageSurroundings): TemplateFunctions {
  return { ...commonFunctions(surroundings), ...nodeFunctions(surroundings) };
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const commonNames = [
  "Now",
  "StartTime",
  "Version",
  "Quote",
  "YAML",
  "randInt",
  "randAlphaNum",
  "uuidv4",
] satisfies readonly (keyof ReturnType<typeof commonFunctions>)[];
const nodeNames = [
  "NodeConditions",
  "NodeName",
  "NodePort",
  "NodeIP",
  "NodeIPWith",
  "NodeIPsWith",
  "PodIP",
  "PodIPWith",
  "PodIPsWith",
] satisfies readonly (keyof ReturnType<typeof nodeFunctions>)[];

/** Names of the functions for Stages of the kind, by which templates are parsed. */
export function stageFunctionNames(kind: StagedKind): readonly string[] {
  return isOfNodes(kind) ? [...commonNames, ...nodeNames] : commonNames;
}

/** The JSON of a value as a JSON text. */
function quote(value: unknown): string {
  const json = printJson(value ?? null);
  return typeof value === "string" ? json : goQuote(json);
}

/** The value as YAML; with a level of indentation, on new lines that are indented by two for each. */
function yaml(value: unknown, level?: unknown): string {
  const text = printYaml(value ?? null);
  const depth = Math.min(intOf(level ?? 0), 100);
  return depth > 0 ? `\n${text}`.replaceAll("\n", `\n${" ".repeat(2 * depth)}`) : text;
}
