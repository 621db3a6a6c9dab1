import type { Stage } from "#kinds";
import { type CompiledStage, compileStage } from "./compiled-stage.ts";
import { StageFault } from "./stage-fault.ts";
import type { StagedKind, StagedObject } from "./stage-kinds.ts";

/** Most Stages that are used. */
const mostStages = 1_000;

interface Entry {
  readonly stage: Stage;
  readonly compiled?: CompiledStage | undefined;
  /** Why the Stage cannot be used. */
  readonly fault?: string;
}

/** The compiled Stages of now, by the kind of the objects that they select. */
export class StageBook {
  private readonly entries = new Map<string, Entry>();
  private readonly byKind = new Map<StagedKind, readonly CompiledStage[]>();
  private readonly listeners = new Set<() => void>();
  /** Stages that select an object, until Stages change. */
  private selected = new WeakMap<StagedObject, readonly CompiledStage[]>();

  /**
   * Takes a Stage in its newest form.
   * @returns why the Stage cannot be used; undefined = it is used
   */
  put(stage: Stage): string | undefined {
    const { name, uid, generation } = stage.metadata;
    const known = this.entries.get(name);
    const before = known?.stage.metadata;
    if (before?.uid === uid && before.generation === generation) return known?.fault;
    const entry = { stage, ...this.compile(stage) };
    this.entries.set(name, entry);
    this.refresh();
    return entry.fault;
  }

  remove(name: string): void {
    if (this.entries.delete(name)) this.refresh();
  }

  clear(): void {
    this.entries.clear();
    this.refresh();
  }

  has(kind: StagedKind): boolean {
    return this.byKind.has(kind);
  }

  /** The Stages that select an object, in the order of their names. */
  selecting(kind: StagedKind, object: StagedObject): readonly CompiledStage[] {
    const stages = this.byKind.get(kind);
    if (stages === undefined) return [];
    const known = this.selected.get(object);
    if (known !== undefined) return known;
    const found = stages.filter(({ matches }) => matches(object));
    this.selected.set(object, found);
    return found;
  }

  /** Calls the listener when Stages change; returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private compile(stage: Stage): Omit<Entry, "stage"> {
    if (this.entries.size >= mostStages && !this.entries.has(stage.metadata.name)) {
      return { fault: `more than ${mostStages} Stages` };
    }
    try {
      return { compiled: compileStage(stage) };
    } catch (error) {
      if (!(error instanceof StageFault)) throw error;
      return { fault: error.message };
    }
  }

  private refresh(): void {
    this.byKind.clear();
    this.selected = new WeakMap();
    const all = [...this.entries.values()].flatMap(({ compiled }) => compiled ?? []);
    all.sort((left, right) => (left.name < right.name ? -1 : 1));
    for (const stage of all) {
      this.byKind.set(stage.kind, [...(this.byKind.get(stage.kind) ?? []), stage]);
    }
    for (const listener of this.listeners) listener();
  }
}
