/** Binary heap with access by key. */
export class Heap<T> {
  private readonly items: T[] = [];
  private readonly positions = new Map<string, number>();

  constructor(
    private readonly keyOf: (item: T) => string,
    private readonly less: (a: T, b: T) => boolean,
  ) {}

  get size(): number {
    return this.items.length;
  }

  get(key: string): T | undefined {
    const at = this.positions.get(key);
    return at === undefined ? undefined : this.items[at];
  }

  peek(): T | undefined {
    return this.items[0];
  }

  /** Adds an item, or replaces the one with the same key. */
  set(item: T): void {
    const key = this.keyOf(item);
    const at = this.positions.get(key) ?? this.items.length;
    this.items[at] = item;
    this.positions.set(key, at);
    this.down(this.up(at));
  }

  pop(): T | undefined {
    const [first] = this.items;
    if (first !== undefined) this.delete(this.keyOf(first));
    return first;
  }

  delete(key: string): T | undefined {
    const at = this.positions.get(key);
    if (at === undefined) return undefined;
    const item = this.items[at];
    const last = this.items.pop()!;
    this.positions.delete(key);
    if (at === this.items.length) return item;
    this.items[at] = last;
    this.positions.set(this.keyOf(last), at);
    this.down(this.up(at));
    return item;
  }

  values(): Iterable<T> {
    return this.items;
  }

  private up(from: number): number {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.less(this.items[at]!, this.items[parent]!)) break;
      this.swap(at, parent);
      at = parent;
    }
    return at;
  }

  private down(from: number): void {
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.items.length) return;
      const right = left + 1;
      const isRight = right < this.items.length && this.less(this.items[right]!, this.items[left]!);
      const child = isRight ? right : left;
      if (!this.less(this.items[child]!, this.items[at]!)) return;
      this.swap(at, child);
      at = child;
    }
  }

  private swap(a: number, b: number): void {
    const item = this.items[a]!;
    this.items[a] = this.items[b]!;
    this.items[b] = item;
    this.positions.set(this.keyOf(this.items[a]!), a);
    this.positions.set(this.keyOf(this.items[b]!), b);
  }
}
