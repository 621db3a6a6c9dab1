import { printJson } from "#base";
import type { ApiObject, Handle, Selection } from "../contract.ts";
import { Informer, type InformerOptions } from "./informer.ts";

/** Options that all informers of a process share. */
export type InformersOptions = Pick<
  InformerOptions<ApiObject>,
  "client" | "clock" | "random" | "signal" | "report" | "transform"
>;

/** Shared informer factory: one informer per collection and selection. */
export class Informers {
  private readonly informers = new Map<string, Informer<ApiObject>>();
  private readonly running: Promise<void>[] = [];

  constructor(private readonly options: InformersOptions) {}

  /** Returns the informer of a collection; creates and starts it at the first call. */
  of<T extends ApiObject>(resource: Handle<T>, selection: Selection = {}): Informer<T> {
    const id = printJson([resource.group, resource.version, resource.plural, selection]);
    const known = this.informers.get(id);
    // The handle determines the type of the collection's objects.
    if (known !== undefined) return known as unknown as Informer<T>;
    const informer = new Informer<T>({ ...this.options, resource, selection });
    this.informers.set(id, informer as unknown as Informer<ApiObject>);
    this.running.push(informer.run());
    return informer;
  }

  /** Resolves when all informers have ended after the signal aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.running);
  }
}
