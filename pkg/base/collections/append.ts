/** `list.push(...more)` for lists of any length, of which a call takes only so many arguments. */
export function append<V>(list: V[], more: Iterable<V>): void {
  for (const each of more) list.push(each);
}
