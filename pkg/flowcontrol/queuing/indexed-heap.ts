/** Element of an IndexedHeap, which maintains `heapIndex`; -1 if it is not in a heap. */
export interface HeapElement {
  heapIndex: number;
}

/** Binary heap whose elements store their index, so that any of them is removed in O(log n). */
export class IndexedHeap<T extends HeapElement> {
  private readonly elements: T[] = [];

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  /** The minimum; undefined if the heap is empty. */
  first(): T | undefined {
    return this.elements[0];
  }

  /** All elements in no particular order. */
  values(): readonly T[] {
    return this.elements;
  }

  /** Inserts the element, or restores the order after a change of its key. */
  place(element: T): void {
    if (element.heapIndex < 0) element.heapIndex = this.elements.push(element) - 1;
    this.siftUp(element);
    this.siftDown(element);
  }

  /** Removes the element if it is in the heap. */
  remove(element: T): void {
    const index = element.heapIndex;
    if (index < 0) return;
    element.heapIndex = -1;
    const last = this.elements.pop() as T;
    if (last === element) return;
    this.put(last, index);
    this.siftUp(last);
    this.siftDown(last);
  }

  private siftUp(element: T): void {
    let index = element.heapIndex;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.elements[above] as T;
      if (!this.isBefore(element, parent)) break;
      this.put(parent, index);
      index = above;
    }
    this.put(element, index);
  }

  private siftDown(element: T): void {
    let index = element.heapIndex;
    for (;;) {
      const child = this.firstChild(index);
      if (child === undefined || !this.isBefore(child, element)) break;
      const below = child.heapIndex;
      this.put(child, index);
      index = below;
    }
    this.put(element, index);
  }

  private firstChild(index: number): T | undefined {
    const left = this.elements[2 * index + 1];
    const right = this.elements[2 * index + 2];
    if (left === undefined || right === undefined) return left;
    return this.isBefore(right, left) ? right : left;
  }

  private put(element: T, index: number): void {
    this.elements[index] = element;
    element.heapIndex = index;
  }
}
