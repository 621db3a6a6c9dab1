import type { ApiObject, Handle, Selection } from "../contract.ts";
import { Informer, type InformerOptions } from "./informer.ts";

/** What all informers of a process have in common. */
export type InformersOptions = Pick<
  InformerOptions<ApiObject>,
  "client" | "clock" | "random" | "signal" | "report" | "transform"
>;

/** Informers that are shared: one for each collection, however many ask for it. */
export class Informers {
  private readonly informers = new Map<string, Informer<ApiObject>>();
  private readonly running: Promise<void>[] = [];

  constructor(private readonly options: InformersOptions) {}

  /** The informer of a collection, which runs from now on. */
  of<T extends ApiObject>(resource: Handle<T>, selection: Selection = {}): Informer<T> {
    const id = JSON.stringify([resource.group, resource.version, resource.plural, selection]);
    const known = this.informers.get(id);
    // The handle says of what type the objects of its collection are.
    if (known !== undefined) return known as unknown as Informer<T>;
    const informer = new Informer<T>({ ...this.options, resource, selection });
    this.informers.set(id, informer as unknown as Informer<ApiObject>);
    this.running.push(informer.run());
    return informer;
  }

  /** Resolves when all of them have ended, which they do when the signal aborts. */
  async ended(): Promise<void> {
    await Promise.all(this.running);
  }
}
