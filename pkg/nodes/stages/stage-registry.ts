import type { Stage } from "#kinds";
import { type CompiledStage, compileStage } from "./compile/compiled-stage.ts";
import { StageFault } from "./compile/stage-fault.ts";
import { documentOf, isOfNodes, type StagedKind, type StagedObject } from "./stage-kinds.ts";

/** Maximum number of Stages. */
const maxStages = 1_000;
/** Maximum number of kinds besides Pod and Node, each of which needs a watch. */
const maxKinds = 50;

interface Entry {
  readonly stage: Stage;
  readonly compiled?: CompiledStage | undefined;
  /** Error of an unusable Stage. */
  readonly fault?: string;
}

/** Whether a Stage is accepted. */
export interface StageAcceptance {
  readonly stage: Stage;
  /** Error of a rejected Stage; undefined = accepted. */
  readonly fault: string | undefined;
}

/** Registry of compiled Stages, by kind of the selected objects. */
export class StageRegistry {
  private readonly entries = new Map<string, Entry>();
  private readonly byKind = new Map<StagedKind, readonly CompiledStage[]>();
  /** Errors of kinds whose objects cannot be watched. */
  private readonly kindFaults = new Map<StagedKind, string>();
  private readonly listeners = new Set<() => void>();
  private readonly acceptanceListeners = new Set<(name: string) => void>();
  /** Cached Stages that select an object; cleared when Stages change. */
  private selected = new WeakMap<StagedObject, readonly CompiledStage[]>();

  /** Adds or updates a Stage. */
  put(stage: Stage): void {
    const { name, uid, generation } = stage.metadata;
    const known = this.entries.get(name);
    const before = known?.stage.metadata;
    if (known !== undefined && before?.uid === uid && before.generation === generation) {
      this.entries.set(name, { ...known, stage });
    } else {
      this.entries.set(name, { stage, ...this.compile(stage) });
      this.refresh();
    }
    this.announce(name);
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

  /** Kinds besides Pod and Node that Stages select. */
  otherKinds(): readonly StagedKind[] {
    return [...this.byKind.keys()].filter((kind) => !isOfNodes(kind));
  }

  /** Sets the error of a kind whose objects cannot be watched; undefined = none. */
  setKindFault(kind: StagedKind, fault: string | undefined): void {
    if (this.kindFaults.get(kind) === fault) return;
    if (fault === undefined) this.kindFaults.delete(kind);
    else this.kindFaults.set(kind, fault);
    for (const { name } of this.byKind.get(kind) ?? []) this.announce(name);
  }

  /** Whether a Stage is accepted; undefined = unknown Stage. */
  acceptanceOf(name: string): StageAcceptance | undefined {
    const entry = this.entries.get(name);
    if (entry === undefined) return undefined;
    const { stage, compiled, fault } = entry;
    const kindFault = compiled === undefined ? undefined : this.kindFaults.get(compiled.kind);
    return { stage, fault: fault ?? kindFault };
  }

  /** Stages that select an object, sorted by name. */
  selecting(kind: StagedKind, object: StagedObject): readonly CompiledStage[] {
    const stages = this.byKind.get(kind);
    if (stages === undefined) return [];
    const known = this.selected.get(object);
    if (known !== undefined) return known;
    const document = documentOf(kind, object);
    const found = stages.filter(({ matches }) => matches(document));
    this.selected.set(object, found);
    return found;
  }

  /** Calls `listener` when Stages change; returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls the listener with the name of a Stage whose acceptance may have changed. */
  onAcceptance(listener: (name: string) => void): () => void {
    this.acceptanceListeners.add(listener);
    return () => this.acceptanceListeners.delete(listener);
  }

  private announce(name: string): void {
    for (const listener of this.acceptanceListeners) listener(name);
  }

  private compile(stage: Stage): Omit<Entry, "stage"> {
    if (this.entries.size >= maxStages && !this.entries.has(stage.metadata.name)) {
      return { fault: `more than ${maxStages} Stages` };
    }
    try {
      const compiled = compileStage(stage);
      const isOneMore = compiled !== undefined && !this.has(compiled.kind);
      if (isOneMore && !isOfNodes(compiled.kind) && this.otherKinds().length >= maxKinds) {
        return { fault: `Stages select more than ${maxKinds} kinds` };
      }
      return { compiled };
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
