/** Element of a RequestList; it is in at most one list at a time. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** Intrusive doubly linked list: O(1) append and removal, no allocation. */
export class RequestList<T extends Linked<T>> {
  length = 0;
  first: T | undefined;
  private last: T | undefined;

  append(element: T): void {
    element.previous = this.last;
    element.next = undefined;
    if (this.last === undefined) this.first = element;
    else this.last.next = element;
    this.last = element;
    this.length++;
  }

  /** Removes an element of this list. */
  remove(element: T): void {
    const { previous, next } = element;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    element.previous = undefined;
    element.next = undefined;
    this.length--;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let element = this.first; element !== undefined; element = element.next) yield element;
  }
}
