import { objectKey } from "#client";
import type { Pod, Container } from "#kinds";
import { LiveCommand, type MainCommand } from "../shell/command-run.ts";
import { type ContainerFiles, FileSystems, imageFiles } from "../shell/container-files.ts";

/** The start of a container whose files are wanted. */
interface Started {
  readonly pod: Pod;
  readonly container: Container;
  readonly run: { readonly startedAt: number; readonly restarts: number };
}

interface Live {
  readonly command: LiveCommand;
  readonly run: Started["run"];
  /** Number of restarts before this start. */
  readonly restarts: number;
  hasTokens: boolean;
}

/**
 * Files of running containers, created when they are first needed. The command of a container, its probes and
 * clients change the same ones.
 */
export class LiveFiles {
  private readonly systems: FileSystems;
  /** By key of the pod and name of the container. */
  private readonly containers = new Map<string, Live>();

  constructor(private readonly now: () => number) {
    this.systems = new FileSystems(now);
  }

  /** @param main the container's command, without words if it has none */
  filesOf(start: Started, main: () => MainCommand): ContainerFiles {
    const { command } = this.liveOf(start, main);
    command.advance(this.now() - start.run.startedAt);
    return command.files;
  }

  /** The files, to which those are added that were absent at the first use. */
  filesWithTokens(start: Started, main: () => MainCommand): ContainerFiles {
    const live = this.liveOf(start, main);
    const { files } = live.command;
    if (!live.hasTokens) {
      live.hasTokens = true;
      for (const [path, file] of Object.entries(main().files)) {
        if (files.get(path) !== undefined) continue;
        if (typeof file === "string") files.writeFile(path, Buffer.from(file));
        else files.writeFile(path, file.data, file.mode);
      }
    }
    return this.filesOf(start, main);
  }

  /** Deletes the files of a pod's containers. */
  forget(pod: string): void {
    for (const id of this.containers.keys()) {
      if (id.startsWith(`${pod}/`)) this.drop(id);
    }
  }

  private liveOf(start: Started, main: () => MainCommand): Live {
    const { pod, container, run } = start;
    const id = `${objectKey(pod)}/${container.name}`;
    const known = this.containers.get(id);
    const isCurrent = known?.run === run && known.restarts === run.restarts;
    if (isCurrent && this.systems.find(id) === known.command.files) return known;
    this.drop(id);
    const source = main();
    const files = this.systems.of(id, { ...source.files, ...imageFiles }, (each) =>
      this.isAlive(each),
    );
    for (const folder of source.unknownFolders) files.makeFolder(folder);
    const command = new LiveCommand(source, files);
    const live = { command, run, restarts: run.restarts, hasTokens: false };
    this.containers.set(id, live);
    return live;
  }

  private isAlive(id: string): boolean {
    const live = this.containers.get(id);
    return live !== undefined && live.restarts === live.run.restarts;
  }

  private drop(id: string): void {
    this.systems.forget(id);
    this.containers.delete(id);
  }
}
