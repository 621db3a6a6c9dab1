import type { Clock } from "#base";
import { type Client, type Informers, objectKey } from "#client";
import { type Container, type Node, type Pod } from "#kinds";
import type { CommandExit, ContainerRun, ScratchFiles } from "../pod/container-run.ts";
import {
  type CommandOutcome,
  firstNotSimulated,
  followCommand,
  type MainCommand,
  type NotSimulatedPart,
} from "../shell/command-run.ts";
import type { ContainerFiles } from "../shell/container-files.ts";
import { hostOf, isExecutable, isShell } from "../shell/shell.ts";
import type { ConfigObjects } from "./config-objects.ts";
import {
  ContainerEnvironments,
  EnvironmentFault,
  type EnvironmentSource,
  type Variables,
} from "./container-environment.ts";
import { LiveFiles } from "./live-files.ts";
import { mountsOf } from "./mounted-files.ts";
import { PodTokens } from "./pod-tokens.ts";
import { ScratchVolumes } from "./scratch-volumes.ts";
import { expandReferences } from "./references.ts";
import type { VolumeContext } from "./volume-contents.ts";
import { SubPathFault, withSubPaths } from "./sub-paths.ts";

/** Inputs of a container's creation, or the error that prevents it. */
export type Prepared =
  | {
      /** Declared variables, if they depend on objects that may change while it runs. */
      readonly declared: Variables | undefined;
      /** Files of its volumes; undefined = unknown. */
      readonly scratch: ScratchFiles | undefined;
    }
  | {
      /** The kubelet's message; undefined = objects are still being listed. */
      readonly fault: string | undefined;
    };

/** One start of a container. */
export interface Start {
  readonly pod: Pod;
  readonly container: Container;
  readonly run: Pick<ContainerRun, "startedAt" | "restarts" | "declared" | "scratch"> & {
    readonly last?: ContainerRun["last"];
  };
}

export interface ContainerCommandsOptions {
  readonly objects: ConfigObjects;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly clientOf: (node: string) => Client;
  readonly report: (what: string, error: unknown) => void;
  readonly nodeOf: (name: string) => Node | undefined;
  /** Called with the key of a pod whose containers may now be creatable. */
  readonly onChange: (pod: string) => void;
}

/** Environment and files of containers, and the simulated results of their commands. */
export class ContainerCommands {
  private readonly environments: ContainerEnvironments;
  private readonly volumes = new ScratchVolumes();
  private readonly tokens: PodTokens;
  private readonly live: LiveFiles;
  /** Keys of waiting pods, by key of the missing object. */
  private readonly waiting = new Map<string, Set<string>>();
  /** Keys of missing objects, by key of the waiting pod. */
  private readonly missing = new Map<string, Set<string>>();

  constructor(private readonly options: ContainerCommandsOptions) {
    const { objects, informers } = options;
    this.environments = new ContainerEnvironments(objects, informers);
    this.tokens = new PodTokens(options);
    this.live = new LiveFiles(() => options.clock.now());
    objects.onChange((key) => this.wake(key));
    objects.onSynced(() => {
      for (const key of this.waiting.keys()) this.wake(key);
    });
  }

  untilSynced(): Promise<void> {
    return this.environments.untilSynced();
  }

  /**
   * Prepares a container's creation. A pod that lacks an object is enqueued when the object appears.
   * @param left files of its previous run in its volumes; undefined = unknown
   */
  prepare(pod: Pod, container: Container, left: ScratchFiles | undefined): Prepared {
    const scratch = left && this.volumes.filesAtStart(pod, container, left);
    const { env = [], envFrom = [] } = container;
    const isOwn = envFrom.length === 0 && env.every(({ valueFrom }) => !isFromObject(valueFrom));
    const environmentOf = () =>
      this.environments.environmentOf({ pod, container, node: this.nodeOf(pod) });
    try {
      const declared = isOwn ? undefined : environmentOf();
      withSubPaths(container, () => declared ?? environmentOf());
      return { declared, scratch };
    } catch (error) {
      if (error instanceof SubPathFault) return { fault: error.message };
      if (!(error instanceof EnvironmentFault)) throw error;
      this.waitFor(objectKey(pod), error.objectKey);
      return { fault: this.options.objects.isSynced ? error.message : undefined };
    }
  }

  /** Environment of a started container. */
  environmentOf({ pod, container, run }: Start): Variables {
    const host = hostOf(pod);
    const source = { pod, container, node: this.nodeOf(pod) };
    const own = run.declared ?? this.currentEnvironment(source);
    return new Map([...baseVariables, ["HOSTNAME", host], ...own]);
  }

  /** Current environment; empty if its objects have been deleted. */
  private currentEnvironment(source: EnvironmentSource): Variables {
    try {
      return this.environments.environmentOf(source);
    } catch (error) {
      if (!(error instanceof EnvironmentFault)) throw error;
      return new Map();
    }
  }

  /**
   * Run time and exit code of a container's command; undefined = unknown. A command that may read a token is
   * pending until it is issued; the pod is enqueued then.
   */
  exitOf(start: Start): CommandExit | "pending" | undefined {
    const { pod, container } = start;
    if (runsForever(container)) return endless;
    const outcome = this.follow(start);
    if (outcome === undefined && hasCommand(container) && this.tokens.isMissing(pod)) {
      void this.tokens.request(pod);
      return "pending";
    }
    return outcome && { ...outcome.exit, message: terminationMessage(container, outcome) };
  }

  /**
   * Stores the files that an exited container has written to its volumes, for later starts.
   * @param at wall clock in ms of its exit
   * @returns files of its emptyDir volumes; undefined = unknown
   */
  keepFiles(start: Start, at: number): ScratchFiles | undefined {
    const { pod, container, run } = start;
    if (run.scratch === undefined) return undefined;
    if (!this.volumes.hasAny(pod, container)) return run.scratch;
    const outcome = this.follow(start, at - run.startedAt);
    const { textsAt } = outcome ?? {};
    return textsAt && this.volumes.keep(pod, container, { found: run.scratch, textsAt });
  }

  /** Output of a container's command so far; undefined = unknown. */
  outputOf(start: Start): CommandOutcome["output"] | undefined {
    const { clock } = this.options;
    return this.follow(start, clock.now() - start.run.startedAt)?.output;
  }

  /**
   * The files of a running container, as its command, probes and clients have changed them; they are lost on
   * a restart.
   */
  filesOf(start: Start): ContainerFiles {
    return this.live.filesOf(start, () => this.mainOf(start));
  }

  /** Like `filesOf`, with the tokens that the container mounts. */
  async filesWithTokens(start: Start): Promise<ContainerFiles> {
    await this.tokens.request(start.pod);
    return this.live.filesWithTokens(start, () => this.mainOf(start));
  }

  /** What the command of a container uses first that is not simulated; undefined = nothing. */
  notSimulatedOf(start: Start): NotSimulatedPart | undefined {
    const [word] = start.container.command ?? [];
    if (word === undefined || runsForever(start.container)) return undefined;
    if (!word.includes("$") && !isExecutable(word)) return { program: word, isProgram: true };
    const main = this.mainOf(start);
    const [program = ""] = main.command;
    if (!isExecutable(program)) return { program, isProgram: true };
    return isShell(program) ? firstNotSimulated(main) : undefined;
  }

  private volumeContext(pod: Pod): VolumeContext {
    return { pod, node: this.nodeOf(pod), objects: this.options.objects, tokens: this.tokens };
  }

  private follow(start: Start, untilMs?: number): CommandOutcome | undefined {
    if (!hasCommand(start.container)) return undefined;
    return followCommand(this.mainOf(start), untilMs);
  }

  private mainOf(start: Start): MainCommand {
    const { pod, container, run } = start;
    const { command = [], args = [] } = container;
    const environment = this.environmentOf(start);
    const expand = (word: string) => expandReferences(word, (name) => environment.get(name));
    const mounting = withSubPaths(container, () => environment);
    return {
      command: [...command, ...args].map(expand),
      environment,
      host: hostOf(pod),
      ...mountsOf(mounting, { ...this.volumeContext(pod), scratch: run.scratch }),
      startedAt: run.startedAt,
      seed: `${pod.metadata.uid}/${container.name}/${run.restarts}`,
    };
  }

  private nodeOf({ spec }: Pod): Node | undefined {
    return this.options.nodeOf(spec?.nodeName ?? "");
  }

  /** Removes a deleted pod, its files, and what it waits for. */
  forget(pod: string): void {
    this.live.forget(pod);
    this.stopWaiting(pod);
  }

  private stopWaiting(pod: string): void {
    for (const object of this.missing.get(pod) ?? []) {
      const pods = this.waiting.get(object);
      pods?.delete(pod);
      if (pods?.size === 0) this.waiting.delete(object);
    }
    this.missing.delete(pod);
  }

  private waitFor(pod: string, object: string): void {
    this.waiting.set(object, (this.waiting.get(object) ?? new Set()).add(pod));
    this.missing.set(pod, (this.missing.get(pod) ?? new Set()).add(object));
  }

  private wake(object: string): void {
    for (const pod of this.waiting.get(object) ?? []) {
      this.stopWaiting(pod);
      this.options.onChange(pod);
    }
  }
}

function hasCommand({ command = [], args = [] }: Container): boolean {
  return command.length + args.length > 0;
}

const endless = { afterMs: Infinity, code: 0, message: undefined };

/** Maximum bytes of a termination message, and maximum bytes and lines of the log used as fallback. */
const maxMessageBytes = 4_096;
const maxLogBytes = 2_048;
const maxLogLines = 80;

/** Content of terminationMessagePath, or the end of the log by FallbackToLogsOnError. */
function terminationMessage(container: Container, { exit, output, textsAt }: CommandOutcome) {
  const { terminationMessagePath = "/dev/termination-log", terminationMessagePolicy } = container;
  const [[, message] = ["", ""]] = textsAt(terminationMessagePath);
  const usesLog = terminationMessagePolicy === "FallbackToLogsOnError" && exit.code !== 0;
  if (message !== "" || !usesLog) return message.slice(0, maxMessageBytes);
  const log = Buffer.concat(output.map(({ data }) => data)).toString();
  return log
    .split(/(?<=\n)/)
    .slice(-maxLogLines)
    .join("")
    .slice(-maxLogBytes);
}

/** Variables that images set. */
const baseVariables = [
  ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  ["HOME", "/root"],
] as const;

function isFromObject({ configMapKeyRef, secretKeyRef }: ValueSource = {}): boolean {
  return configMapKeyRef !== undefined || secretKeyRef !== undefined;
}

type ValueSource = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;

/** Whether a container never exits: pause images. */
function runsForever({ image = "", command = [], args = [] }: Container): boolean {
  return command.length === 0 && (/(^|\/)pause([:@]|$)/.test(image) || args[0] === "pause");
}
